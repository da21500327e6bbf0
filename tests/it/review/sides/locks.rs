//! Locks taken away, and not given back.

use super::{finds, is_silent};

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
        // Several at once are another design.
        (
            "e.go",
            r#"
 func (c *Cache) Put(key string, value int) {
-	c.mu.Lock()
-	defer c.mu.Unlock()
 	c.items[key] = value
 	c.count++
 }
 func (c *Cache) Drop(key string) {
-	c.mu.Lock()
-	defer c.mu.Unlock()
 	delete(c.items, key)
 	c.count--
 }
 func (c *Cache) Close() { c.mu.Lock(); c.mu.Unlock() }
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
