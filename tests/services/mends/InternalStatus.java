package io.grpc;

/**
 * The Pub/Sub emulator (0.8.20) bundles two versions of gRPC: its server calls a method that the
 * class of this name in its jar does not have. So it never learns that a client has gone, and what it
 * had sent there never comes back. This one stands in front of the jar and has it.
 */
public final class InternalStatus {
  public static final Metadata.Key<String> MESSAGE_KEY = Status.MESSAGE_KEY;
  public static final Metadata.Key<Status> CODE_KEY = Status.CODE_KEY;

  private InternalStatus() {}

  public static StatusRuntimeException asRuntimeExceptionWithoutStacktrace(
      Status status, Metadata trailers) {
    return new StatusRuntimeException(status, trailers);
  }

  public static StatusRuntimeException asRuntimeException(
      Status status, Metadata trailers, boolean withStackTrace) {
    return new StatusRuntimeException(status, trailers);
  }
}
