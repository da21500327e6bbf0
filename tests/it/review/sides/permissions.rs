//! Checks of permissions taken away.

use super::{Change, finds, is_silent, said};

#[test]
fn a_permission_nobody_checks() {
    finds(&[
        (
            "app/views.py",
            r#"
-@login_required
 def remove(request, id):
     item = find(id)
     item.delete()
     return done(request)
"#,
            "permission-check-removed:1",
        ),
        (
            "app/api.py",
            r#"
 @app.route("/items/<id>")
-@permission_required("items.remove")
 def remove(id):
     item = find(id)
     item.delete()
"#,
            "permission-check-removed:2",
        ),
        (
            "src/Items.java",
            r#"
 class Items {
-  @PreAuthorize("hasRole('ADMIN')")
   public void remove(String id) {
     Item item = find(id);
     item.remove();
   }
 }
"#,
            "permission-check-removed:2",
        ),
        (
            "src/Items.cs",
            r#"
 public class Items {
-  [Authorize]
   public void Remove(string id) {
     var item = Find(id);
     item.Remove();
   }
 }
"#,
            "permission-check-removed:2",
        ),
        (
            "src/ItemsController.cs",
            r#"
-[Authorize]
 public class ItemsController {
   public void Remove(string id) {
     var item = Find(id);
     item.Remove();
   }
 }
"#,
            "permission-check-removed:1",
        ),
        (
            "app/items.rb",
            r#"
 class Items
   def remove
-    authorize! :remove, item
     item.remove(params[:id])
     redirect_back(fallback: items)
   end
 end
"#,
            "permission-check-removed:3",
        ),
        (
            "src/items.js",
            r#"
 async function remove(req, res) {
-  if (!req.user.isAdmin) {
-    return res.status(403).end();
-  }
   const item = await find(req.params.id);
   await item.remove();
   res.end();
 }
"#,
            "permission-check-removed:2",
        ),
        (
            "items.go",
            r#"
 func (s *Server) remove(w http.ResponseWriter, r *http.Request) {
-	if !s.isAllowed(r, "remove") {
-		http.Error(w, "no", 403)
-		return
-	}
 	item := s.find(r.URL.Path)
 	item.remove()
 }
"#,
            "permission-check-removed:2",
        ),
        (
            "src/items.php",
            r#"
 <?php
 class Items {
   public function remove($id) {
-    if (!$this->hasPermission('remove')) {
-      throw new Forbidden();
-    }
     $item = $this->find($id);
     $item->remove();
   }
 }
"#,
            "permission-check-removed:4",
        ),
    ]);
}

#[test]
fn permissions_checked_elsewhere_now() {
    is_silent(&[
        // Another decorator.
        (
            "app/views.py",
            r#"
-@login_required
+@permission_required("items.remove")
 def remove(request, id):
     item = find(id)
     item.delete()
"#,
        ),
        // In the function.
        (
            "app/views.py",
            r#"
-@login_required
 def remove(request, id):
+    require_login(request)
     item = find(id)
     item.delete()
"#,
        ),
        // For the whole class.
        (
            "src/Items.java",
            r#"
+@PreAuthorize("hasRole('ADMIN')")
 class Items {
-  @PreAuthorize("hasRole('ADMIN')")
   public void remove(String id) {
     Item item = find(id);
     item.remove();
   }
 }
"#,
        ),
        // Open on purpose, and it says so.
        (
            "src/Items.cs",
            r#"
 public class Items {
-  [Authorize]
+  [AllowAnonymous]
   public void Remove(string id) {
     var item = Find(id);
     item.Remove();
   }
 }
"#,
        ),
        // The function went with it.
        (
            "app/views.py",
            r#"
-@login_required
-def remove(request, id):
-    item = find(id)
-    item.delete()
-
 def show(request, id):
     return find(id)
"#,
        ),
        // What it protected went.
        (
            "src/items.js",
            r#"
 async function remove(req, res) {
-  if (!req.user.isAdmin) {
-    return res.status(403).end();
-  }
-  const item = await find(req.params.id);
-  await item.remove();
   res.end();
 }
"#,
        ),
        // A middleware.
        (
            "src/items.js",
            r#"
+router.use(requireAdmin, checkPermission);
 async function remove(req, res) {
-  if (!req.user.isAdmin) {
-    return res.status(403).end();
-  }
   const item = await find(req.params.id);
   await item.remove();
 }
"#,
        ),
        // Another annotation.
        (
            "src/Items.java",
            r#"
 class Items {
-  @Deprecated
   public void remove(String id) {
     Item item = find(id);
     item.remove();
   }
 }
"#,
        ),
        // In a test.
        (
            "tests/test_views.py",
            r#"
-@login_required
 def remove(request, id):
     item = find(id)
     item.delete()
"#,
        ),
        // A moved line.
        (
            "app/items.rb",
            r#"
 class Items
   def remove
-    authorize! :remove, item
     log(params[:id])
+    authorize! :remove, item
     item.remove(params[:id])
   end
 end
"#,
        ),
        // Layout.
        (
            "src/items.js",
            r#"
 async function remove(req, res) {
-  if (!req.user.isAdmin) {
-    return res.status(403).end();
-  }
+  if (!req.user.isAdmin) return res.status(403).end();
   const item = await find(req.params.id);
   await item.remove();
 }
"#,
        ),
        // The check itself, rewritten.
        (
            "src/auth.js",
            r#"
 function isAllowed(user, what) {
-  if (user.isAdmin) {
-    return true;
-  }
   const rights = user.rights.filter(known);
   return rights.includes(what);
 }
"#,
        ),
    ]);
    // In another file of the change.
    let views = r#"
-@login_required
 def remove(request, id):
     item = find(id)
     item.delete()
"#;
    let urls = "\n+path('remove', login_required(remove))\n";
    let both =
        [Change { path: "app/views.py", diff: views }, Change { path: "app/urls.py", diff: urls }];
    assert_eq!(said(&both[..1]), ["permission-check-removed:1"]);
    assert_eq!(said(&both), [""; 0]);
}
