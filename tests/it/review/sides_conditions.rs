//! Conditions turned round, guards and looks at errors taken away.

use super::sides::{finds, is_silent};

/// What decides is turned round, and contradicts what it decides.
#[test]
fn a_condition_that_contradicts_what_it_decides() {
    finds(&[
        (
            "a.go",
            r#"
 package a
 
 func Load(path string) error {
 	err := read(path)
-	if err != nil {
+	if err == nil {
 		return err
 	}
 	return done()
 }
"#,
            "condition-turned-round:5",
        ),
        (
            "a.js",
            r#"
 function greet(user) {
-  if (user !== null) {
+  if (user === null) {
     show(user.name);
   }
 }
"#,
            "condition-turned-round:2",
        ),
        (
            "a.py",
            r#"
 def greet(user):
-    if user is not None:
+    if user is None:
         show(user.name)
         log("greeted")
"#,
            "condition-turned-round:2",
        ),
        (
            "A.java",
            r#"
 class A {
   boolean known(User user) {
-    if (user != null && user.isKnown()) {
+    if (user != null || user.isKnown()) {
       return true;
     }
     return false;
   }
 }
"#,
            "condition-turned-round:3",
        ),
        (
            "a.c",
            r#"
 int sum(const struct list *list) {
   int total = 0;
-  for (int i = 0; i < list->length; i++) {
+  for (int i = 0; i <= list->length; i++) {
     total += list[i];
   }
   return total;
 }
"#,
            "condition-turned-round:3",
        ),
        (
            "a.ts",
            r#"
 export function remove(req: Request, res: Response) {
-  if (!req.user.isAdmin) {
+  if (req.user.isAdmin) {
     return res.status(403).send("no");
   }
   drop(req.params.id);
 }
"#,
            "condition-turned-round:2",
        ),
        (
            "a.rb",
            r#"
 def greet(user)
-  unless user.nil?
+  if user.nil?
     puts user.name
   end
 end
"#,
            "condition-turned-round:2",
        ),
        (
            "a.php",
            r#"
 <?php
 function greet($user) {
-  if ($user !== null) {
+  if ($user === null) {
     echo $user->name;
   }
 }
"#,
            "condition-turned-round:3",
        ),
        (
            "A.cs",
            r#"
 class A {
   string Name(User user) {
-    if (user == null || user.Name == "") {
+    if (user == null && user.Name == "") {
       return "nobody";
     }
     return user.Name;
   }
 }
"#,
            "condition-turned-round:3",
        ),
    ]);
}

/// Alone it looks as a correction does, and stays below the threshold.
#[test]
fn a_condition_that_may_be_a_correction() {
    finds(&[
        (
            "a.py",
            r#"
 def wait(jobs, limit):
-    while len(jobs) < limit:
+    while len(jobs) >= limit:
         jobs.poll(timeout=1)
"#,
            "condition-turned-round:2?",
        ),
        (
            "a.rs",
            r#"
 fn pick(a: u32, b: u32) -> u32 {
-    if a > b && ready() {
+    if a > b || ready() {
         return first(a);
     }
     b
 }
"#,
            "condition-turned-round:2?",
        ),
        (
            "a.kt",
            r#"
 fun pick(ready: Boolean) {
-    if (!ready) {
+    if (ready) {
         start("now")
     }
 }
"#,
            "condition-turned-round:2?",
        ),
        (
            "a.sh",
            r#"
 run() {
-  if [ -z "$1" ]; then
+  if [ -n "$1" ]; then
     echo "usage: run FILE"
   fi
 }
"#,
            "condition-turned-round:2?",
        ),
    ]);
}

#[test]
fn conditions_that_were_not_turned() {
    is_silent(&[
        // Both the condition and what it decides are turned.
        (
            "a.js",
            r#"
 function pick(a) {
-  if (a.ready) {
-    start(a);
-  } else {
-    wait(a);
-  }
+  if (!a.ready) {
+    wait(a);
+  } else {
+    start(a);
+  }
 }
"#,
        ),
        // Early return in place of nesting.
        (
            "a.go",
            r#"
 func pick(a *A) {
-	if a != nil {
-		a.start()
-	}
+	if a == nil {
+		return
+	}
+	a.start()
 }
"#,
        ),
        // Brackets only.
        (
            "a.c",
            r#"
 int f(int a, int b) {
-  if (a == 1 && b == 2) {
+  if ((a == 1) && (b == 2)) {
     return go(a, b);
   }
   return 0;
 }
"#,
        ),
        // Layout only.
        (
            "a.ts",
            r#"
 function f(a: number, b: number) {
-  if (a < b && b < 10) { return go(a, b); }
+  if (
+    a < b &&
+    b < 10
+  ) {
+    return go(a, b);
+  }
 }
"#,
        ),
        // A comment only.
        (
            "a.py",
            r#"
 def f(a):
-    if a:  # not yet
+    if a:  # now
         return go(a)
"#,
        ),
        // More than the operator changed.
        (
            "a.java",
            r#"
 class A { int f(int a) {
-    if (a < limit) {
+    if (a >= maximum) {
       return go(a);
     }
     return 0;
 } }
"#,
        ),
        // The body changed, too.
        (
            "a.rs",
            r#"
 fn f(a: u32) -> u32 {
-    if a == 0 {
-        return none(a);
+    if a != 0 {
+        return some(a);
     }
     0
 }
"#,
        ),
        // Another function of the same look.
        (
            "a.go",
            r#"
-func f(a int) bool {
-	if a == 1 {
-		return check(a)
-	}
-	return false
-}
+func g(a int) bool {
+	if a != 1 {
+		return check(a)
+	}
+	return false
+}
"#,
        ),
        // A rename.
        (
            "a.rb",
            r#"
 def f(user)
-  if user.ready
+  if user.prepared
     user.start(now)
   end
 end
"#,
        ),
        // Another limit.
        (
            "a.php",
            r#"
 <?php
 function f($a) {
-  if ($a < 10) {
+  if ($a < 11) {
     return go($a);
   }
 }
"#,
        ),
        // A moved function.
        (
            "a.py",
            r#"
-def f(a):
-    if a == 1:
-        return go(a)
-
-
 def g(a):
     return a
+
+
+def f(a):
+    if a == 1:
+        return go(a)
"#,
        ),
        // A condition that is new.
        (
            "a.cs",
            r#"
 class A { int F(int a) {
+    if (a != 1) {
+      return Go(a);
+    }
     return 0;
 } }
"#,
        ),
    ]);
}

#[test]
fn a_guard_taken_away() {
    finds(&[
        (
            "a.js",
            r#"
 function greet(user) {
-  if (user === null) {
-    return;
-  }
   show(user.name);
 }
"#,
            "guard-removed:2",
        ),
        (
            "a.py",
            r#"
 def greet(name):
     user = find(name)
-    if user is None:
-        return None
     return user.name
"#,
            "guard-removed:3",
        ),
        (
            "a.go",
            r#"
 func greet(u *User) string {
-	if u == nil {
-		return ""
-	}
 	return u.Name
 }
"#,
            "guard-removed:2",
        ),
        (
            "A.java",
            r#"
 class A {
   String greet(User user) {
-    if (user == null) {
-      throw new Missing();
-    }
     return user.name();
   }
 }
"#,
            "guard-removed:3",
        ),
        (
            "a.c",
            r#"
 int size(struct list *list) {
-  if (list == NULL)
-    return 0;
   return list->length;
 }
"#,
            "guard-removed:2",
        ),
        (
            "a.cpp",
            r#"
 int size(List *list) {
-  if (list == nullptr) {
-    return 0;
-  }
   return list->length();
 }
"#,
            "guard-removed:2",
        ),
        (
            "a.rb",
            r#"
 def greet(name)
   user = find(name)
-  return if user.nil?
   puts user.name
 end
"#,
            "guard-removed:3",
        ),
        (
            "a.php",
            r#"
 <?php
 function greet($user) {
-  if ($user === null) {
-    return;
-  }
   echo $user->name;
 }
"#,
            "guard-removed:3",
        ),
        (
            "A.cs",
            r#"
 class A {
   string Greet(User user) {
-    if (user == null) {
-      return "";
-    }
     return user.Name;
   }
 }
"#,
            "guard-removed:3",
        ),
        (
            "a.ts",
            r#"
 function greet(user: User | null) {
-  if (user != null) {
-    show(user.name);
-  }
+  show(user.name);
 }
"#,
            "guard-removed:2",
        ),
    ]);
}

#[test]
fn guards_that_are_elsewhere_now() {
    is_silent(&[
        // Moved up to the caller.
        (
            "a.js",
            r#"
 function greet(user) {
-  if (user === null) {
-    return;
-  }
   show(user.name);
 }
 function all(user) {
+  if (user === null) return;
   greet(user);
 }
"#,
        ),
        // Written otherwise.
        (
            "a.py",
            r#"
 def greet(name):
     user = find(name)
-    if user is None:
-        return None
+    if not user:
+        return None
     return user.name
"#,
        ),
        // Asked in passing.
        (
            "a.ts",
            r#"
 function greet(user: User | null) {
-  if (user === null) return;
-  show(user.name);
+  show(user?.name);
 }
"#,
        ),
        // It comes from elsewhere, and is always there.
        (
            "a.go",
            r#"
 func greet(name string) string {
-	u := find(name)
-	if u == nil {
-		return ""
-	}
+	u := mustFind(name)
 	return u.Name
 }
"#,
        ),
        // The type says so now.
        (
            "A.java",
            r#"
 class A {
-  String greet(@Nullable User user) {
-    if (user == null) {
-      throw new Missing();
-    }
+  String greet(User user) {
     return user.name();
   }
 }
"#,
        ),
        // The use went, too.
        (
            "a.c",
            r#"
 int size(struct list *list) {
-  if (list == NULL)
-    return 0;
-  return list->length;
+  return 0;
 }
"#,
        ),
        // Another question asks it, too.
        (
            "a.cpp",
            r#"
 int size(List *list) {
-  if (list == nullptr) {
-    return 0;
-  }
   return valid(list) && list->length();
 }
"#,
        ),
        // A helper that throws.
        (
            "A.cs",
            r#"
 class A {
   string Greet(User user) {
-    if (user == null) {
-      throw new ArgumentNullException(nameof(user));
-    }
+    ArgumentNullException.ThrowIfNull(user);
     return user.Name;
   }
 }
"#,
        ),
        // The function was moved and only indented.
        (
            "a.rb",
            r#"
-def greet(user)
-  return if user.nil?
-  puts user.name
-end
+class A
+  def greet(user)
+    return if user.nil?
+    puts user.name
+  end
+end
"#,
        ),
        // In a test.
        (
            "tests/test_a.py",
            r#"
 def test_greet():
     user = find("ada")
-    if user is None:
-        return
     assert user.name == "ada"
"#,
        ),
        // A guard about something else.
        (
            "a.php",
            r#"
 <?php
 function greet($user, $log) {
-  if ($log === null) {
-    return;
-  }
   echo $user->name;
 }
"#,
        ),
        // It does not leave: what follows ran anyway.
        (
            "b.js",
            r#"
 function greet(user) {
-  if (user === null) {
-    count();
-  }
   show(user.name);
 }
"#,
        ),
        // Extracted.
        (
            "b.py",
            r#"
 def greet(name):
-    user = find(name)
-    if user is None:
-        return None
+    user = known(name)
     return user.name
+
+
+def known(name):
+    user = find(name)
+    if user is None:
+        raise Missing(name)
+    return user
"#,
        ),
    ]);
}

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
            "a.ts",
            r#"
 async function save(a: A) {
   const [error, data] = await to(a.encode());
   let saveError = await a.write(data);
-  if (saveError) {
-    throw saveError;
-  }
   return data.length;
 }
"#,
            "error-check-removed:3",
        ),
        (
            "b.ts",
            r#"
 async function save(a: A) {
   const writeErr = await a.write(a.data);
-  if (writeErr !== null) {
-    throw writeErr;
-  }
   return a.data.length;
 }
"#,
            "error-check-removed:2",
        ),
        (
            "a.js",
            r#"
 async function save(a) {
   const err = await a.write(a.data);
-  if (err) return false;
   return true;
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
        // No error.
        (
            "a.js",
            r#"
 async function save(a) {
   const done = await a.write(a.data);
-  if (done) return false;
   return true;
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
