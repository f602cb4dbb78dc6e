#include "sotto/transports/transport.hpp"

#include <string_view>

#include "static/least_transport.hpp"

namespace {

using sotto::testing::least_transport;

// Sending never writes to the caller's memory, so that constant memory can be sent.
struct sends_writable_bytes : least_transport {
    sotto::request send(int, sotto::tag, sotto::mutable_byte_view);
};
static_assert(!sotto::transport<sends_writable_bytes>);

// A send that returns nothing could only be waited for by blocking.
struct sends_blocking : least_transport {
    void send(int, sotto::tag, sotto::byte_view);
};
static_assert(!sotto::transport<sends_blocking>);

// A round is atomic only if every rank learns the verdict.
struct agrees_silently : least_transport {
    void agree(bool);
};
static_assert(!sotto::transport<agrees_silently>);

// Who gives up is handling an exception already.
struct fails_loudly : least_transport {
    void fail(std::string_view);
};
static_assert(!sotto::transport<fails_loudly>);

}  // namespace
