package com.google.cloud.pubsub.testing.v1;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** Gives the class inside it its name. Only that one stands in front of the jar. */
class MessageBacklog {
  /**
   * The Pub/Sub emulator (0.8.20) may note a refused message twice for redelivery, or keep a note whose
   * message went back by its deadline. When it comes to the note, its periodic task dies of a null
   * pointer, and the subscription redelivers nothing any more. This one strikes out such notes first.
   */
  class ExpireOutstandingMessagesRunnable implements Runnable {
    private final Map<Long, Set<String>> delayed = field("delayedMessagesByTime");
    private final Map<String, Object> delivered = field("delivered");

    @SuppressWarnings("unchecked")
    private <T> T field(String name) {
      try {
        Field field = MessageBacklog.class.getDeclaredField(name);
        field.setAccessible(true);
        return (T) field.get(MessageBacklog.this);
      } catch (ReflectiveOperationException other) {
        throw new IllegalStateException("this mend is not for this emulator", other);
      }
    }

    @Override
    public void run() {
      synchronized (MessageBacklog.this) {
        Set<String> seen = new HashSet<>();
        for (Set<String> acks : delayed.values()) {
          acks.removeIf(ack -> !delivered.containsKey(ack) || !seen.add(ack));
        }
        try {
          Method expire = MessageBacklog.class.getDeclaredMethod("expireOutstandingMessages");
          expire.setAccessible(true);
          expire.invoke(MessageBacklog.this);
        } catch (NoSuchMethodException | IllegalAccessException | InvocationTargetException failed) {
          // Told, and tried at the next turn. What leaves this method would be its last turn.
          failed.printStackTrace();
        }
      }
    }
  }
}
