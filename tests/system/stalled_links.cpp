#include <doctest/doctest.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/transports/tcp.hpp"
#include "support/processes.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

constexpr int ranks = 3;

/// Drops incoming packets of more than `most` bytes, headers of TCP included, on all connections of
/// this process: as a link does that takes no larger ones and does not report it.
int drop_large_packets(std::uint32_t most) {
    std::array<sock_filter, 4> code{
        {BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, most, 0, 1),
         BPF_STMT(BPF_RET | BPF_K, 0), BPF_STMT(BPF_RET | BPF_K, 0xffffffff)}};
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    int filtered = 0;
    for (int handle = 3; handle < 256; ++handle) {
        int protocol = 0;
        socklen_t size = sizeof protocol;
        if (::getsockopt(handle, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 &&
            protocol == IPPROTO_TCP)
            filtered +=
                ::setsockopt(handle, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
    }
    return filtered;
}

/// How a rank ended.
struct ending {
    int named = -1;
    bool is_late = false;
    int filtered = 0;
    std::array<char, 512> text{};
};

/// Each rank sends to the next one, again and again.
void exchange(tcp& transport, std::vector<std::byte>& out, std::vector<std::byte>& in) {
    const int next = (transport.rank() + 1) % ranks, before = (transport.rank() + 2) % ranks;
    const request received = transport.receive(before, {}, in);
    const request sent = transport.send(next, {}, out);
    transport.wait(received);
    transport.wait(sent);
    transport.agree(true);
}

}  // namespace

TEST_CASE("tcp: large packets between two ranks vanish -> all ranks name both, not at timeout") {
    constexpr int deaf = 1;  // for large packets
    tcp_options options;
    options.size = ranks;
    options.port = 0;
    tcp::meeting first(options);
    options.port = first.port();
    processes all;
    for (int rank = 1; rank <= ranks; ++rank)
        all.start([&, rank](auto say) {
            ending end;
            const auto work = [&](tcp& transport) {
                std::vector<std::byte> out(200'000), in(out.size());
                exchange(transport, out, in);
                if (transport.rank() == deaf) end.filtered = drop_large_packets(1000);
                transport.agree(true);
                while (true) exchange(transport, out, in);
            };
            try {
                tcp_options own = options;
                own.rank = rank % ranks;
                if (own.rank == 0) {
                    tcp transport = first.join();
                    work(transport);
                } else {
                    tcp transport = tcp::join(own);
                    work(transport);
                }
            } catch (const peer_failure& e) {
                end.named = e.rank();
                end.is_late = e.code() == errc::timed_out;
                std::string(e.what()).copy(end.text.data(), end.text.size() - 1);
            }
            say(end);
        });
    for (std::size_t which = 0; which < ranks; ++which) {
        ending end;
        REQUIRE(all.hear(which, end));
        const std::string text = end.text.data();
        CAPTURE(text);
        if (which + 1 == deaf) REQUIRE(end.filtered >= 4);
        CHECK(end.named == deaf);
        CHECK_FALSE(end.is_late);
        CHECK(text.find("it gives signs of life, but acknowledged nothing on the connection for "
                        "messages from rank 0 for ") != std::string::npos);
    }
}
