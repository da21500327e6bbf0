//! `error-check-removed`.

use super::{finds, is_silent};

#[test]
fn an_error_nobody_looks_at() {
    finds(&[
        (
            "a.go",
            r#"
 func load(path string) string {
 	data, err := read(path)
-	if err != nil {
-		return ""
-	}
 	return data.String()
 }
"#,
            "error-check-removed:2",
        ),
        (
            "b.go",
            r#"
 func save(a *A) error {
 	data, err := a.encode()
 	if err != nil {
 		return err
 	}
 	_, err = a.write(data)
-	if err != nil {
-		return err
-	}
 	err = a.sync()
 	return err
 }
"#,
            "error-check-removed:6",
        ),
        // The branches come after it.
        (
            "between.go",
            r#"
 func load(old bool) (int, error) {
 	x, err := first()
-	if err != nil {
-		return 0, err
-	}
 	if old {
 		log(x)
 	} else {
 		skip(x)
 	}
 	y, err := second(x)
 	return y, err
 }
"#,
            "error-check-removed:2",
        ),
        (
            "c.go",
            r#"
 func save(a *A) error {
 	_, err := a.write(nil)
-	if err != nil {
-		log.Print(err)
-		return err
-	}
 	err = a.sync()
 	return err
 }
"#,
            "error-check-removed:2",
        ),
        (
            "d.go",
            r#"
 func (s *Store) remove(id string) int {
 	count, removeErr := s.db.remove(id)
-	if removeErr != nil {
-		panic(removeErr)
-	}
 	return count
 }
"#,
            "error-check-removed:2",
        ),
        (
            "e.go",
            r#"
 func each(paths []string) {
 	for _, path := range paths {
 		data, err := read(path)
-		if err != nil {
-			continue
-		}
 		show(data)
 	}
 }
"#,
            "error-check-removed:3",
        ),
    ]);
    // Each branch sets it, and it is checked after them.
    for (first, second) in
        [(" \tif old {", " \t} else {"), (" \tswitch {\n \tcase old:", " \tdefault:")]
    {
        let branches = format!(
            r#"
 func load(path string, old bool) string {{
{first}
 		data, err = readOld(path)
-		if err != nil {{
-			return ""
-		}}
{second}
 		data, err = read(path)
-		if err != nil {{
-			return ""
-		}}
+	}}
+	if err != nil {{
+		return ""
 	}}
 	return data.String()
 }}
"#
        );
        is_silent(&[("branches.go", &branches)]);
    }
    is_silent(&[
        (
            "a.go",
            r#"
 func load(path string) (string, error) {
 	data, err := read(path)
-	if err != nil {
-		return "", err
-	}
-	return data.String(), nil
+	return data.String(), err
 }
"#,
        ),
        (
            "b.go",
            r#"
 func load(path string) string {
-	data, err := read(path)
-	if err != nil {
-		return ""
-	}
+	data := mustRead(path)
 	return data.String()
 }
"#,
        ),
        (
            "c.go",
            r#"
 func load(path string) string {
 	data, err := read(path)
-	if err != nil {
-		return ""
-	}
+	check(err)
 	return data.String()
 }
"#,
        ),
        (
            "d.go",
            r#"
 func load(path string) string {
-	data, err := read(path)
-	if err != nil {
-		return ""
-	}
+	data, _ := read(path)
 	return data.String()
 }
"#,
        ),
        (
            "e.go",
            r#"
 func load(path string) string {
-	data, err := read(path)
-	if err != nil {
+	if data, err := read(path); err != nil {
 		return ""
+	} else {
+		return data.String()
 	}
-	return data.String()
 }
"#,
        ),
        (
            "f.go",
            r#"
 func load(path string) (string, error) {
 	data, err := read(path)
-	if err != nil {
-		return "", err
-	}
 	data = trim(data)
 	if err != nil {
 		return "", err
 	}
 	return data, nil
 }
"#,
        ),
        // In another way.
        (
            "g.go",
            r#"
 func load(path string) string {
 	data, err := read(path)
-	if err != nil {
-		return ""
-	}
+	switch {
+	case errors.Is(err, missing):
+		return ""
+	}
 	return data.String()
 }
"#,
        ),
        // With more to it.
        (
            "h.go",
            r#"
 func load(path string) string {
 	data, err := read(path)
-	if err != nil {
+	if err != nil && !ignored(err) {
 		return ""
 	}
 	return data.String()
 }
"#,
        ),
        // In a test.
        (
            "a_test.go",
            r#"
 func load(path string) string {
 	data, err := read(path)
-	if err != nil {
-		return ""
-	}
 	return data.String()
 }
"#,
        ),
        // It only said so, and went on.
        (
            "i.go",
            r#"
 func load(path string) string {
 	data, err := read(path)
-	if err != nil {
-		log.Print(err)
-	}
 	return data.String()
 }
"#,
        ),
        // A comment.
        (
            "j.go",
            r#"
 func load(path string) string {
 	data, err := read(path)
-	// whatever
 	if err != nil {
 		return ""
 	}
 	return data.String()
 }
"#,
        ),
    ]);
}
