//! Permissions, locks and closes taken away.

use super::sides::{Change, finds, is_silent, said};

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

#[test]
fn a_lock_taken_away() {
    finds(&[
        (
            "a.go",
            r#"
 func (c *Cache) Put(key string, value int) {
-	c.mu.Lock()
-	defer c.mu.Unlock()
 	c.items[key] = value
 	c.count++
 }
 func (c *Cache) Get(key string) int {
 	c.mu.Lock()
 	defer c.mu.Unlock()
 	return c.items[key]
 }
"#,
            "lock-removed:2",
        ),
        (
            "a.py",
            r#"
 class Cache:
     def put(self, key, value):
-        with self._lock:
-            self.items[key] = value
-            self.count += 1
+        self.items[key] = value
+        self.count += 1
 
     def get(self, key):
         with self._lock:
             return self.items[key]
"#,
            "lock-removed:3",
        ),
        (
            "A.java",
            r#"
 class Cache {
-  synchronized void put(String key, int value) {
+  void put(String key, int value) {
     items.put(key, value);
     count += value;
   }
   synchronized int get(String key) {
     return items.get(key);
   }
 }
"#,
            "lock-removed:2",
        ),
        (
            "B.java",
            r#"
 class Cache {
   void put(String key, int value) {
-    lock.lock();
     items.put(key, value);
     count += value;
-    lock.unlock();
   }
   int get(String key) {
     lock.lock();
     try { return items.get(key); } finally { lock.unlock(); }
   }
 }
"#,
            "lock-removed:3",
        ),
        (
            "a.cpp",
            r#"
 void Cache::put(int key, int value) {
-  std::lock_guard<std::mutex> guard(mutex_);
   items[key] = value;
   count += value;
 }
 int Cache::get(int key) {
   std::lock_guard<std::mutex> guard(mutex_);
   return items[key];
 }
"#,
            "lock-removed:2",
        ),
        (
            "a.c",
            r#"
 void put(struct cache *cache, int key, int value) {
-  pthread_mutex_lock(&cache->mutex);
   cache->items[key] = value;
   cache->count += value;
-  pthread_mutex_unlock(&cache->mutex);
 }
 int get(struct cache *cache, int key) {
   pthread_mutex_lock(&cache->mutex);
   int value = cache->items[key];
   pthread_mutex_unlock(&cache->mutex);
   return value;
 }
"#,
            "lock-removed:2",
        ),
        (
            "A.cs",
            r#"
 class Cache {
   void Put(string key, int value) {
-    lock (gate)
-    {
       items[key] = value;
       count += value;
-    }
   }
   int Get(string key) {
     lock (gate) { return items[key]; }
   }
 }
"#,
            "lock-removed:3",
        ),
        (
            "a.rb",
            r#"
 class Cache
   def put(key, value)
-    @mutex.synchronize do
     items.store(key, value)
     count.add(value)
-    end
   end
   def get(key)
     @mutex.synchronize { items.fetch(key) }
   end
 end
"#,
            "lock-removed:3",
        ),
    ]);
}

#[test]
fn a_lock_that_is_not_given_back() {
    finds(&[
        (
            "a.go",
            r#"
 func (c *Cache) Put(key string, value int) {
 	c.mu.Lock()
-	defer c.mu.Unlock()
 	c.items[key] = value
 }
"#,
            "unlock-removed:2",
        ),
        (
            "A.java",
            r#"
 class Cache {
   void put(String key, int value) {
     lock.lock();
-    try {
-      items.put(key, value);
-    } finally {
-      lock.unlock();
-    }
+    items.put(key, value);
   }
 }
"#,
            "unlock-removed:3",
        ),
        (
            "a.c",
            r#"
 int put(struct cache *cache, int key, int value) {
   pthread_mutex_lock(&cache->mutex);
   cache->items[key] = value;
-  pthread_mutex_unlock(&cache->mutex);
   return value;
 }
"#,
            "unlock-removed:2",
        ),
        (
            "a.py",
            r#"
 def put(key, value):
     lock.acquire()
     items[key] = value
-    lock.release()
"#,
            "unlock-removed:2",
        ),
        (
            "a.cpp",
            r#"
 void Cache::put(int key, int value) {
   mutex_.lock();
   items[key] = value;
-  mutex_.unlock();
 }
"#,
            "unlock-removed:2",
        ),
        (
            "b.go",
            r#"
 func (c *Cache) Get(key string) int {
 	c.mu.RLock()
-	defer c.mu.RUnlock()
 	return c.items[key]
 }
"#,
            "unlock-removed:2",
        ),
        (
            "a.kt",
            r#"
 class Cache {
   fun put(key: String, value: Int) {
     gate.lock()
     items.put(key, value)
-    gate.unlock()
   }
 }
"#,
            "unlock-removed:3",
        ),
        (
            "b.py",
            r#"
 class Cache:
     def put(self, key, value):
         self.gate.acquire()
         self.items[key] = value
-        self.gate.release()
"#,
            "unlock-removed:3",
        ),
    ]);
}

#[test]
fn locks_that_are_taken_otherwise() {
    is_silent(&[
        // Read lock in place of the lock.
        (
            "a.go",
            r#"
 func (c *Cache) Get(key string) int {
-	c.mu.Lock()
-	defer c.mu.Unlock()
+	c.mu.RLock()
+	defer c.mu.RUnlock()
 	return c.items[key] + c.count
 }
 func (c *Cache) Put(key string) { c.mu.Lock(); c.mu.Unlock() }
"#,
        ),
        // Nobody takes it any more: another design.
        (
            "b.go",
            r#"
 func (c *Cache) Put(key string, value int) {
-	c.mu.Lock()
-	defer c.mu.Unlock()
 	c.items[key] = value
 	c.count++
 }
"#,
        ),
        // The caller takes it.
        (
            "c.go",
            r#"
 func (c *Cache) put(key string, value int) {
-	c.mu.Lock()
-	defer c.mu.Unlock()
 	c.items[key] = value
 	c.count++
 }
 func (c *Cache) Put(key string, value int) {
+	c.mu.Lock()
+	defer c.mu.Unlock()
 	c.put(key, value)
 }
"#,
        ),
        // Its name says that it is held.
        (
            "d.go",
            r#"
 func (c *Cache) putLocked(key string, value int) {
-	c.mu.Lock()
-	defer c.mu.Unlock()
 	c.items[key] = value
 	c.count++
 }
 func (c *Cache) Get(key string) int { c.mu.Lock(); defer c.mu.Unlock(); return c.items[key] }
"#,
        ),
        // What it protected went.
        (
            "e.go",
            r#"
 func (c *Cache) Put(key string, value int) {
-	c.mu.Lock()
-	defer c.mu.Unlock()
-	c.items[key] = value
-	c.count++
+	log.Print(key)
 }
 func (c *Cache) Get(key string) int { c.mu.Lock(); defer c.mu.Unlock(); return c.items[key] }
"#,
        ),
        // A smaller section.
        (
            "a.py",
            r#"
 def put(self, key, value):
-    with self.lock:
-        value = encode(value)
-        self.items[key] = value
+    value = encode(value)
+    with self.lock:
+        self.items[key] = value
"#,
        ),
        // Atomic in its place.
        (
            "A.java",
            r#"
 class Counter {
-  synchronized void add(int value) {
-    count += value;
-    total += value;
+  void add(int value) {
+    atomicCount.add(value);
+    total += value;
   }
   synchronized int get() { return total; }
 }
"#,
        ),
        // Unlocked on every way out by hand.
        (
            "f.go",
            r#"
 func (c *Cache) Get(key string) int {
 	c.mu.Lock()
-	defer c.mu.Unlock()
-	return c.items[key]
+	value := c.items[key]
+	c.mu.Unlock()
+	return value
 }
"#,
        ),
        // By a block in place of calls.
        (
            "b.py",
            r#"
 def put(key, value):
-    lock.acquire()
-    items[key] = value
-    lock.release()
+    with lock:
+        items[key] = value
"#,
        ),
        // Taken here, given back elsewhere: its name says so.
        (
            "g.go",
            r#"
 func (c *Cache) lockAll() {
 	c.mu.Lock()
-	c.mu.Unlock()
 	c.held = true
 }
"#,
        ),
        // In a test.
        (
            "a_test.go",
            r#"
 func TestPut(t *testing.T) {
 	mu.Lock()
-	defer mu.Unlock()
 	check(t, items)
 }
"#,
        ),
        // Layout.
        (
            "a.c",
            r#"
 int put(struct cache *cache, int key) {
-  pthread_mutex_lock(&cache->mutex); cache->items[key]++; pthread_mutex_unlock(&cache->mutex);
+  pthread_mutex_lock(&cache->mutex);
+  cache->items[key]++;
+  pthread_mutex_unlock(&cache->mutex);
   return key;
 }
"#,
        ),
        // A comment.
        (
            "h.go",
            r#"
 func (c *Cache) Put(key string) {
 	c.mu.Lock()
-	defer c.mu.Unlock() // always
+	defer c.mu.Unlock()
 	c.count++
 }
"#,
        ),
    ]);
}

#[test]
fn a_close_taken_away() {
    finds(&[
        (
            "a.go",
            r#"
 func count(path string) int {
 	f, err := os.Open(path)
 	if err != nil {
 		return 0
 	}
-	defer f.Close()
 	return lines(f.Name())
 }
"#,
            "close-removed:2",
        ),
        (
            "b.go",
            r#"
 func size(url string) int64 {
 	resp, err := http.Get(url)
 	if err != nil {
 		return 0
 	}
-	defer resp.Body.Close()
 	return resp.ContentLength
 }
"#,
            "close-removed:2",
        ),
        (
            "a.py",
            r#"
 def first(path):
-    with open(path) as f:
-        return f.readline()
+    f = open(path)
+    return f.readline()
"#,
            "close-removed:2",
        ),
        (
            "b.py",
            r#"
 def first(path):
     f = open(path)
     line = f.readline()
-    f.close()
     return line
"#,
            "close-removed:2",
        ),
        (
            "A.java",
            r#"
 class A {
   String first(Path path) throws IOException {
-    try (BufferedReader reader = Files.newBufferedReader(path)) {
-      return reader.readLine();
-    }
+    BufferedReader reader = Files.newBufferedReader(path);
+    return reader.readLine();
   }
 }
"#,
            "close-removed:3",
        ),
        (
            "A.cs",
            r#"
 class A {
   string First(string path) {
-    using var reader = File.OpenText(path);
+    var reader = File.OpenText(path);
     return reader.ReadLine();
   }
 }
"#,
            "close-removed:3",
        ),
        (
            "B.cs",
            r#"
 class A {
   string First(string path) {
-    using (var reader = File.OpenText(path)) {
-      return reader.ReadLine();
-    }
+    var reader = File.OpenText(path);
+    return reader.ReadLine();
   }
 }
"#,
            "close-removed:3",
        ),
        (
            "a.c",
            r#"
 int first(const char *path) {
   FILE *file = fopen(path, "r");
   int c = fgetc(file);
-  fclose(file);
   return c;
 }
"#,
            "close-removed:2",
        ),
        (
            "a.rb",
            r#"
 def first(path)
   file = File.open(path)
   line = file.readline
-  file.close()
   line
 end
"#,
            "close-removed:2",
        ),
    ]);
}

#[test]
fn what_is_closed_otherwise() {
    is_silent(&[
        // Closed at once.
        (
            "a.go",
            r#"
 func count(path string) int {
 	f, _ := os.Open(path)
-	defer f.Close()
-	return lines(f.Name())
+	n := lines(f.Name())
+	f.Close()
+	return n
 }
"#,
        ),
        // Returned: whoever gets it closes it.
        (
            "b.go",
            r#"
 func open(path string) *os.File {
 	f, _ := os.Open(path)
-	defer f.Close()
 	return f
 }
"#,
        ),
        // Kept.
        (
            "c.go",
            r#"
 func (a *A) open(path string) {
 	f, _ := os.Open(path)
-	defer f.Close()
 	a.file = f
 }
"#,
        ),
        // Passed on.
        (
            "d.go",
            r#"
 func open(path string) *Reader {
 	f, _ := os.Open(path)
-	defer f.Close()
 	return NewReader(f)
 }
"#,
        ),
        // The opening went, too.
        (
            "e.go",
            r#"
 func count(path string) int {
-	f, _ := os.Open(path)
-	defer f.Close()
-	return lines(f.Name())
+	return lines(path)
 }
"#,
        ),
        // A helper closes it.
        (
            "f.go",
            r#"
 func count(path string) int {
 	f, _ := os.Open(path)
-	defer f.Close()
+	defer closeQuietly(f)
 	return lines(f.Name())
 }
"#,
        ),
        // A context in place of a call.
        (
            "a.py",
            r#"
 def first(path):
-    f = open(path)
-    line = f.readline()
-    f.close()
-    return line
+    with open(path) as f:
+        return f.readline()
"#,
        ),
        // Two in one.
        (
            "b.py",
            r#"
 def first(path):
-    with open(path) as f:
+    with lock, open(path) as f:
         return f.readline()
"#,
        ),
        // A stack closes it.
        (
            "c.py",
            r#"
 def first(path, stack):
-    with open(path) as f:
-        return f.readline()
+    f = stack.enter_context(open(path))
+    return f.readline()
"#,
        ),
        // Another resource is opened.
        (
            "d.py",
            r#"
 def first(path):
-    with open(path) as f:
-        return f.readline()
+    f = Path(path).read_text()
+    return f.splitlines()[0]
"#,
        ),
        // `using` of another form.
        (
            "A.cs",
            r#"
 class A {
   string First(string path) {
-    using (var reader = File.OpenText(path)) {
-      return reader.ReadLine();
-    }
+    using var reader = File.OpenText(path);
+    return reader.ReadLine();
   }
 }
"#,
        ),
        // Another resource in the same parentheses.
        (
            "A.java",
            r#"
 class A {
   String first(Path path) throws IOException {
-    try (BufferedReader reader = Files.newBufferedReader(path)) {
+    try (Log log = start(); BufferedReader reader = Files.newBufferedReader(path)) {
       return reader.readLine();
     }
   }
 }
"#,
        ),
        // In a test.
        (
            "tests/test_a.py",
            r#"
 def test_first(path):
     f = open(path)
     assert f.readline()
-    f.close()
"#,
        ),
        // Layout.
        (
            "e.py",
            r#"
 def first(path):
-    with open(path) as f: return f.readline()
+    with open(path) as f:
+        return f.readline()
"#,
        ),
    ]);
}
