//! `unlock-removed`.

use super::{finds, is_silent};

#[test]
fn a_lock_that_is_no_longer_released() {
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
        // One lock of two, under the same name.
        (
            "c.go",
            r#"
 func (c *Cache) Move(from *Cache) {
 	c.mu.Lock()
-	defer c.mu.Unlock()
 	from.mu.Lock()
 	defer from.mu.Unlock()
 	c.items = from.items
 }
"#,
            "unlock-removed:2",
        ),
        (
            "B.java",
            r#"
 class Cache {
   void put(String key, int value) {
     gate.writeLock().lock();
     items.put(key, value);
-    gate.writeLock().unlock();
   }
 }
"#,
            "unlock-removed:3",
        ),
    ]);
}

#[test]
fn locks_that_are_released_or_gone() {
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
        // The lock is gone, too.
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
