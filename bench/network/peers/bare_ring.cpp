// What a ring over loopback needs at least: one on plain sockets that does nothing but move bytes
// and add them: no frames, no digests, no deadlines, nobody else heard. The same arguments, data,
// rounds and output as all_reduce.cpp. See network.py, which builds and runs it.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "../timed_rounds.hpp"

namespace {

using bench::place, bench::settings;

void require(bool holds, const char* what) {
    if (!holds) throw std::system_error(errno, std::generic_category(), what);
}

int number(const char* name) {
    const char* const value = std::getenv(name);
    if (value == nullptr) throw std::runtime_error(std::string(name) + " is not set");
    return std::stoi(value);
}

/// Connections to the next rank and from the one before: two between two ranks, as many as others
/// have.
class ring {
public:
    explicit ring(place where) : where_(where) {
        const int listener = ::socket(AF_INET, SOCK_STREAM, 0), yes = 1;
        require(listener >= 0, "socket");
        ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        const sockaddr_in own = address(where.rank), next = address((where.rank + 1) % where.size);
        require(::bind(listener, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0, "bind");
        require(::listen(listener, 1) == 0, "listen");
        to_ = ::socket(AF_INET, SOCK_STREAM, 0);
        while (::connect(to_, reinterpret_cast<const sockaddr*>(&next), sizeof next) != 0) {
            require(errno == ECONNREFUSED, "connect");  // it does not listen yet
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        from_ = ::accept(listener, nullptr, nullptr);
        require(from_ >= 0, "accept");
        ::close(listener);
        for (const int end : {to_, from_})
            require(::setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0 &&
                        ::setsockopt(end, IPPROTO_TCP, TCP_CONGESTION, "reno", 4) == 0,
                    "setsockopt");
    }

    /// `got(bytes)` is called whenever more has come: it hides addition behind what is on its way.
    template <class Got>
    void exchange(const float* out, std::size_t sends, float* in, std::size_t receives, Got got) {
        constexpr std::size_t most = 1 << 18;
        const auto* const from = reinterpret_cast<const char*>(out);
        auto* const to = reinterpret_cast<char*>(in);
        sends *= sizeof(float);
        receives *= sizeof(float);
        for (std::size_t sent = 0, received = 0; sent < sends || received < receives;) {
            std::size_t moved = 0;
            if (sent < sends)
                moved += count(::send(to_, from + sent, std::min(most, sends - sent),
                                      MSG_DONTWAIT | MSG_NOSIGNAL),
                               sent);
            if (received < receives &&
                count(
                    ::recv(from_, to + received, std::min(most, receives - received), MSG_DONTWAIT),
                    received) > 0) {
                ++moved;
                got(received);
            }
            if (moved == 0) ::sched_yield();  // ranks may share processors
        }
    }

    void all_reduce(std::vector<float>& values) {
        room_.resize(values.size() / static_cast<std::size_t>(where_.size) + 1);
        const int n = where_.size;
        for (int step = 0; step < n - 1; ++step) {
            const block out = block_of(values, where_.rank - step),
                        into = block_of(values, where_.rank - step - 1);
            std::size_t added = 0;
            exchange(out.begin, out.count, room_.data(), into.count, [&](std::size_t bytes) {
                const std::size_t whole = bytes / sizeof(float);
                for (; added < whole; ++added) into.begin[added] += room_[added];
            });
        }
        for (int step = 0; step < n - 1; ++step) {
            const block out = block_of(values, where_.rank + 1 - step),
                        into = block_of(values, where_.rank - step);
            exchange(out.begin, out.count, into.begin, into.count, [](std::size_t) {});
        }
    }

    void barrier() {
        float token = 0, got = 0;
        for (int i = 0; i < where_.size; ++i) exchange(&token, 1, &got, 1, [](std::size_t) {});
    }

private:
    struct block {
        float* begin;
        std::size_t count;
    };

    block block_of(std::vector<float>& values, int which) const {
        const auto n = static_cast<std::size_t>(where_.size);
        const std::size_t i = static_cast<std::size_t>(which + 2 * where_.size) % n,
                          begin = values.size() * i / n;
        return {values.data() + begin, values.size() * (i + 1) / n - begin};
    }

    static sockaddr_in address(int rank) {
        sockaddr_in made{};
        made.sin_family = AF_INET;
        made.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        made.sin_port = htons(static_cast<std::uint16_t>(29'400 + rank));
        return made;
    }

    static std::size_t count(ssize_t moved, std::size_t& sum) {
        require(moved > 0 || (moved < 0 && (errno == EAGAIN || errno == EINTR)), "a neighbour");
        if (moved < 0) return 0;
        sum += static_cast<std::size_t>(moved);
        return static_cast<std::size_t>(moved);
    }

    place where_;
    int to_ = -1, from_ = -1;
    std::vector<float> room_;
};

}  // namespace

int main(int count, char** arguments) try {
    settings s;
    CLI::App app{"All-reduce on plain sockets over loopback"};
    s.add_to(app);
    CLI11_PARSE(app, count, arguments);
    const place where{number("SOTTO_RANK"), number("SOTTO_SIZE")};
    ring connected(where);
    for (const std::int64_t bytes : s.sizes) {
        bench::summed_values data(bytes, where);
        bench::measure(
            s, where, bytes, {{"bare sockets", [&] { connected.all_reduce(data.values()); }}},
            [&] { data.prepare(); }, [&] { connected.barrier(); },
            [&](std::size_t, int operations) { data.check(operations); });
    }
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
