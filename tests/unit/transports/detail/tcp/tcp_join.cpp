#include "sotto/transports/detail/tcp/tcp_join.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "sotto/core/deadline.hpp"
#include "sotto/transports/detail/messaging/handshake.hpp"
#include "sotto/transports/detail/tcp/tcp_address.hpp"
#include "sotto/transports/detail/tcp/tcp_context.hpp"
#include "sotto/transports/detail/tcp/tcp_rendezvous.hpp"
#include "sotto/transports/tcp.hpp"
#include "support/listener.hpp"
#include "support/over_tcp.hpp"
#include "support/processes.hpp"
#include "support/strangers.hpp"

using namespace sotto;
using namespace sotto::detail::net;
using namespace std::chrono_literals;

namespace {

tcp_options quick(int size) {
    tcp_options options;
    options.size = size;
    options.port = 0;
    options.heartbeat = 20ms;
    options.dead_after = 2s;  // a busy machine keeps a thread waiting for 0.3 s
    options.join = 10s;
    return options;
}

/// What a rank's call ended with.
struct outcome {
    std::string text;
    int named = -1;
    std::error_code code{};
    bool joined = false;
};

outcome outcome_of(const std::function<void()>& call) {
    outcome end;
    try {
        call();
        end.joined = true;
    } catch (const peer_failure& e) {
        end = {e.what(), e.rank(), e.code(), false};
    } catch (const error& e) {
        end = {e.what(), -1, e.code(), false};
    } catch (const std::exception& e) {
        end.text = e.what();
    }
    return end;
}

/// Rank 0 of a job and the port that it listens on, at work on a thread of its own.
class leader {
public:
    explicit leader(tcp_options options)
        : meeting_(std::make_unique<tcp::meeting>(options)),
          port_(meeting_->port()),
          thread_([this] { end_ = outcome_of([&] { meeting_->join(); }); }) {}
    std::uint16_t port() const { return port_; }
    const outcome& end() {
        if (thread_.joinable()) thread_.join();
        return end_;
    }

private:
    std::unique_ptr<tcp::meeting> meeting_;
    std::uint16_t port_;
    outcome end_;
    std::jthread thread_;
};

outcome join_as(int rank, tcp_options options, std::uint16_t port) {
    options.rank = rank;
    options.port = port;
    return outcome_of([&] { tcp::join(options); });
}

/// A process that says what a test wants it to.
class impostor {
public:
    explicit impostor(std::uint16_t port) : socket_(io_) {
        socket_.connect({asio::ip::address_v4::loopback(), port});
    }

    void say(byte_view what) { asio::write(socket_, asio::buffer(what.data(), what.size())); }
    void say_hello(const tcp_options& options, int rank, std::uint16_t listens = 1) {
        tcp_options own = options;
        own.rank = rank;
        detail::wire::hello h = hello_of(own);
        h.incarnation = 7;
        h.listens = to_wire({asio::ip::address_v4::loopback(), listens});
        say(detail::wire::written_hello(h));
    }
    /// As many bytes as a word has, whatever they are.
    std::array<std::byte, detail::wire::rendezvous_message_bytes> hear_something() {
        std::array<std::byte, detail::wire::rendezvous_message_bytes> raw;
        asio::read(socket_, asio::buffer(raw));
        return raw;
    }
    detail::wire::rendezvous_message hear() {
        return detail::wire::read_rendezvous_message(hear_something().data()).value("a test");
    }
    void close() { socket_.close(); }

private:
    asio::io_context io_;
    asio::ip::tcp::socket socket_;
};

bool has(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("ranks that never come are listed by rank 0, and known to those that came") {
    tcp_options options = quick(4);
    options.join = 2s;
    leader first(options);
    const outcome second = join_as(2, options, first.port());
    CHECK(first.end().code == errc::timed_out);
    CHECK(has(first.end().text, "2 of 4 ranks did not come (1, 3) to rank 0 at 127.0.0.1 port"));
    CHECK(second.code == errc::timed_out);
    CHECK(has(second.text, "2 ranks, the first of them rank 1, never came"));
}

TEST_CASE("listed: many ranks -> the first 8 and a count") {
    std::vector<int> ranks;
    CHECK(listed(ranks) == "");
    for (int rank = 1; rank <= 8; ++rank) ranks.push_back(rank);
    CHECK(listed(ranks) == "1, 2, 3, 4, 5, 6, 7, 8");
    ranks.push_back(10);
    CHECK(listed(ranks) == "1, 2, 3, 4, 5, 6, 7, 8 and 1 more");
}

TEST_CASE("join: nobody comes to a world of 65,536 -> the error lists few ranks") {
    tcp_options options = quick(65536);
    options.join = 1ms;
    // The descriptors that such a job takes are more than most machines allow: a rank says that.
    const std::string text = outcome_of([&] { tcp::join(options); }).text;
    CAPTURE(text);
    CHECK(text.size() < 300);
    CHECK((has(text, "65535 of 65536 ranks did not come (1, 2, 3, 4, 5, 6, 7, 8 and 65527 more)") ||
           has(text, "tcp: rank 0 of 65536 needs 131073 more descriptors and can open ")));
}

TEST_CASE("a follower without a leader says where it looked") {
    tcp_options options = quick(2);
    options.join = 100ms;
    const outcome alone = join_as(1, options, 1);
    CHECK(alone.code == errc::timed_out);
    CHECK(has(alone.text, "rank 1 waited for rank 0 at 127.0.0.1 port 1"));
    CHECK(has(alone.text, "no process answered there"));
}

TEST_CASE("who answers as another rank, or says nothing of who it is, is not taken for rank 0") {
    const std::vector<std::pair<detail::wire::rendezvous_message, const char*>> answers{
        {{.what = detail::wire::saying::welcome, .rank = 3, .incarnation = 7}, "answers as rank 3"},
        {{.what = detail::wire::saying::go, .rank = 0, .incarnation = 7},
         "answers with something else"},
        {{.what = detail::wire::saying::welcome, .rank = 0, .incarnation = 0}, "another process"},
    };
    for (const auto& row : answers) {
        const char* const complaint = row.second;
        asio::io_context io;
        asio::ip::tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), 0});
        const std::jthread impostor([&] {
            asio::ip::tcp::socket socket = acceptor.accept();
            std::array<std::byte, detail::wire::hello_bytes> hello;
            asio::read(socket, asio::buffer(hello));
            asio::write(socket, asio::buffer(detail::wire::written_rendezvous_message(row.first)));
            boost::system::error_code ended;  // until the other end goes
            asio::read(socket, asio::buffer(hello), ended);
        });
        const outcome refused = join_as(1, quick(2), acceptor.local_endpoint().port());
        CHECK(refused.code == errc::mismatch);
        CHECK(has(refused.text, complaint));
        CHECK(has(refused.text, "expected rank 0"));
    }
}

TEST_CASE("join: a rank has a descriptor too few -> it says so, all others are told at once") {
    tcp_options options = quick(3);
    tcp::meeting meeting(options);
    const std::uint16_t port = meeting.port();
    testing::processes ranks;
    using line = std::array<char, 300>;
    for (const int rank : {1, 2})
        ranks.start([&, rank](auto say) {
            if (rank == 2) {
                // Three of the context, four connections, a port, a spare one and one to look up
                // users: ten.
                int limit = 3;
                for (int free = 0; free < 9; ++limit)
                    if (::fcntl(limit, F_GETFD) < 0) ++free;
                const rlimit few{static_cast<rlim_t>(limit), static_cast<rlim_t>(limit)};
                ::setrlimit(RLIMIT_NOFILE, &few);
            }
            line text{};
            join_as(rank, options, port).text.copy(text.data(), text.size() - 1);
            say(text);
        });
    const outcome first = outcome_of([&] { meeting.join(); });
    line second{}, third{};
    REQUIRE(ranks.hear(0, second));
    REQUIRE(ranks.hear(1, third));
    CAPTURE(std::string(third.data()));
    CHECK(has(third.data(),
              "tcp: rank 2 of 3 needs 7 more descriptors and can open 6: raise their "
              "limit (ulimit -n) from "));
    CHECK(first.named == 2);
    CHECK(has(first.text, "it can open too few descriptors for the job"));
    CHECK(has(second.data(), "rank 2 failed"));
}

TEST_CASE("join: a rank has too few descriptors to meet rank 0 -> it ends at once") {
    tcp_options options = quick(3);
    options.join = 1min;
    testing::processes alone;
    using line = std::array<char, 300>;
    alone.start([&](auto say) {
        int limit = 3;
        for (int free = 0; free < 4; ++limit)  // the context's, and a spare one
            if (::fcntl(limit, F_GETFD) < 0) ++free;
        const rlimit few{static_cast<rlim_t>(limit), static_cast<rlim_t>(limit)};
        ::setrlimit(RLIMIT_NOFILE, &few);
        line text{};
        join_as(1, options, 1).text.copy(text.data(), text.size() - 1);
        say(text);
    });
    line text{};
    REQUIRE(alone.hear(0, text));
    CHECK(has(text.data(), "tcp: rank 1 of 3 needs 7 more descriptors and can open 1: "));
}

TEST_CASE("join: too few descriptors, and no address of rank 0 -> the descriptors are named") {
    tcp_options options = quick(3);
    options.rank = 1;
    options.join = 100ms;
    options.address = "rank0.test";
    testing::processes alone;
    using line = std::array<char, 300>;
    alone.start([&](auto say) {
        const tcp_context context = open_context(options);
        const resolver finds_none = [](const std::string&) { return resolved{.why_not = "none"}; };
        // A sanitizer needs descriptors when it meets a type for the first time.
        deadline soon(std::chrono::steady_clock::now(), 10s);
        CHECK(look_up(finds_none, options.address, soon).addresses.empty());
        int limit = 3;
        for (int free = 0; free < 1; ++limit)
            if (::fcntl(limit, F_GETFD) < 0) ++free;
        const rlimit few{static_cast<rlim_t>(limit), static_cast<rlim_t>(limit)};
        ::setrlimit(RLIMIT_NOFILE, &few);
        line text{};
        outcome_of([&] {
            tcp_join(context, options, finds_none).run();
        }).text.copy(text.data(), text.size() - 1);
        say(text);
    });
    line text{};
    REQUIRE(alone.hear(0, text));
    CAPTURE(std::string(text.data()));
    CHECK(has(text.data(), "tcp: rank 1 of 3 needs 7 more descriptors and can open 1: "));
}

TEST_CASE("whatever must be alike and is not is named at once, with both values") {
    const std::vector<std::pair<const char*, std::function<void(tcp_options&)>>> differences{
        {"heartbeat", [](tcp_options& o) { o.heartbeat = 21ms; }},
        {"dead_after", [](tcp_options& o) { o.dead_after = 2001ms; }},
        {"timeout", [](tcp_options& o) { o.timeout = 61s; }},
        {"budget", [](tcp_options& o) { o.budget = 65537; }},
        {"configuration", [](tcp_options& o) { o.configuration = "density 0.01"; }},
        {"world size 3", [](tcp_options& o) { o.size = 3; }},
        {"are of two jobs", [](tcp_options& o) { o.job = "other"; }},
    };
    for (const auto& difference : differences) {
        const auto& [name, differ] = difference;
        CAPTURE(difference.first);
        tcp_options options = quick(2);
        options.join = 1s;
        leader first(options);
        tcp_options other = options;
        differ(other);
        const outcome refused = join_as(1, other, first.port());
        CHECK(refused.code == errc::mismatch);
        CHECK(has(refused.text, name));
        // Rank 0 goes on waiting, and says in the end whom it turned away.
        CHECK(has(first.end().text, name));
        CHECK_FALSE(has(first.end().text, "did not say of which rank"));
        // A process of another job may be a stranger, and the rank itself merely late.
        CHECK(first.end().code == (other.job == options.job ? errc::mismatch : errc::timed_out));
    }
}

TEST_CASE("a second process of a rank is refused, and the first stays") {
    const tcp_options options = quick(3);
    leader first(options);
    impostor one(first.port());
    one.say_hello(options, 1);
    CHECK(one.hear().what == detail::wire::saying::welcome);
    const outcome again = join_as(1, options, first.port());
    CHECK(again.code == errc::mismatch);
    CHECK(has(again.text, "another process is rank 1 already"));
    one.close();
    CHECK(first.end().named == 1);
}

TEST_CASE("a rank that hangs while ranks gather is named by all who are there") {
    tcp_options options = quick(3);
    leader first(options);
    impostor silent(first.port());
    silent.say_hello(options, 1);
    silent.say(
        detail::wire::written_rendezvous_message({.what = detail::wire::saying::alive, .rank = 1}));
    const outcome other = join_as(2, options, first.port());
    CHECK(first.end().named == 1);
    CHECK(has(first.end().text, "no sign of life from it for 2 s"));
    CHECK(other.named == 1);
}

namespace {

/// No secret at all, but a first handshake that keeps one rank busy.
class slow_handshake final : public detail::tcp_security {
public:
    slow_handshake(int rank, duration lasts) : rank_(rank), lasts_(lasts) {}

    std::unique_ptr<secure_session> connect(int handle, const std::string&, int own,
                                            int) const override {
        const std::array<std::byte, first_bytes> first{std::byte(own)};
        REQUIRE(::send(handle, first.data(), first.size(), 0) == std::ssize(first));
        return std::make_unique<open_session>(handle, std::nullopt);
    }
    std::unique_ptr<secure_session> accept(int handle, const std::string&, int own,
                                           byte_view first) const override {
        if (own == rank_ && !was_busy_.exchange(true)) std::this_thread::sleep_for(lasts_);
        return std::make_unique<open_session>(handle, std::to_integer<int>(first[0]));
    }
    bool may_begin_with(byte_view) const noexcept override { return true; }

private:
    class open_session final : public secure_session {
    public:
        open_session(int handle, std::optional<int> client) : handle_(handle), client_(client) {}
        moved read(std::span<const mutable_byte_view> into) override {
            moved all;
            for (const mutable_byte_view piece : into) {
                const ssize_t count = ::recv(handle_, piece.data(), piece.size(), 0);
                if (count == 0 && !piece.empty()) return {all.bytes, true, "it ended"};
                if (count > 0) all.bytes += static_cast<std::size_t>(count);
                if (count < std::ssize(piece)) break;
            }
            return all;
        }
        moved write(std::span<const byte_view> from) override {
            const ssize_t count = ::send(handle_, from[0].data(), from[0].size(), MSG_NOSIGNAL);
            return {count > 0 ? static_cast<std::size_t>(count) : 0};
        }
        bool write_waits_for_input() const noexcept override { return false; }
        bool is_refused() const noexcept override { return false; }
        std::optional<int> client() const noexcept override { return client_; }

    private:
        int handle_;
        std::optional<int> client_;
    };

    int rank_;
    duration lasts_;
    mutable std::atomic<bool> was_busy_ = false;
};

}  // namespace

TEST_CASE("tcp_join: a handshake that takes longer than dead_after -> ranks meet") {
    for (const int busy : {0, 1}) {
        CAPTURE(busy);
        tcp_options options = quick(3);
        options.security = std::make_shared<slow_handshake>(busy, options.dead_after + 500ms);
        testing::run_over_tcp(3, options, [](tcp& t) {
            const bool all = t.agree(true);
            CHECK(all);
        });
    }
}

TEST_CASE("a rank that dies while ranks gather is named by all who are there") {
    tcp_options options = quick(3);
    options.dead_after = 5s;
    leader first(options);
    impostor dying(first.port());
    dying.say_hello(options, 1);
    CHECK(dying.hear().what == detail::wire::saying::welcome);
    std::optional<outcome> other;
    std::jthread waits([&] { other = join_as(2, options, first.port()); });
    dying.close();
    CHECK(first.end().named == 1);
    waits.join();
    // It heard of it, or came when rank 0 was gone.
    CHECK_FALSE(other->joined);
}

TEST_CASE("a rank that lives but cannot be reached is named by all who are there") {
    tcp_options options = quick(3);
    options.join = 1500ms;
    leader first(options);
    impostor unreachable(first.port());
    unreachable.say_hello(options, 1);  // nobody listens where it says
    std::jthread lives([&](const std::stop_token& stop) {
        try {
            while (!stop.stop_requested()) {
                unreachable.hear_something();  // as often as rank 0 says that it lives
                unreachable.say(detail::wire::written_rendezvous_message(
                    {.what = detail::wire::saying::alive, .rank = 1}));
            }
        } catch (const std::exception&) {}  // rank 0 has gone
    });
    const outcome other = join_as(2, options, first.port());
    CHECK(first.end().named == 1);
    CHECK(has(first.end().text, "rank 2 could not connect to it within 1.5 s"));
    CHECK(other.named == 1);
}

TEST_CASE("strangers come and go, and the job begins") {
    const tcp_options options = quick(2);
    leader first(options);
    std::vector<std::unique_ptr<impostor>> silent;
    for (int i = 0; i < 100; ++i) {
        const std::string http = "GET / HTTP/1.1\r\n\r\n";
        impostor(first.port()).say(std::as_bytes(std::span(http)));
        const std::vector<std::byte> garbage(300, static_cast<std::byte>(i));
        impostor(first.port()).say(garbage);
        silent.push_back(std::make_unique<impostor>(first.port()));
    }
    CHECK(join_as(1, options, first.port()).joined);
    CHECK(first.end().joined);
}

TEST_CASE("a rank that listens on all its addresses tells one that others can reach") {
    tcp_options options = quick(3);
    leader first(options);
    std::vector<outcome> ends(3);
    {
        std::vector<std::jthread> ranks;
        for (const int rank : {1, 2})
            ranks.emplace_back([&, rank] {
                tcp_options own = options;
                own.bind = "0.0.0.0";
                own.insecure_network = true;
                ends[static_cast<std::size_t>(rank)] = join_as(rank, own, first.port());
            });
    }
    CHECK(ends[1].joined);
    CHECK(ends[2].joined);
    CHECK(first.end().joined);
}

TEST_CASE("options that cannot work are refused at once, by their names") {
    struct refusal {
        std::function<void(tcp_options&)> spoil;
        const char* told;
    };
    for (const refusal& r : std::initializer_list<refusal>{
             {[](tcp_options& o) { o.size = 0; }, "size is 0"},
             {[](tcp_options& o) { o.rank = 2; }, "rank is 2; ranks are 0 to 1"},
             {[](tcp_options& o) { o.address = "127.0.0.1:29500"; }, "tcp_options::port"},
             {[](tcp_options& o) { o.address = "[::1]:29500"; }, "tcp_options::port"},
             {[](tcp_options& o) { o.address = "[::1"; }, "address is '[::1'"},
             {[](tcp_options& o) { o.address = "no\nhost:1"; }, "address is 'no\\nhost:1'"},
             {[](tcp_options& o) { o.address = ""; }, "address is ''"},
             {[](tcp_options& o) { o.timeout = 0s; }, "timeout is 0 ns"},
             {[](tcp_options& o) { o.join = -1s; }, "join is -1000000000 ns"},
             {[](tcp_options& o) { o.handshake = 0s; }, "handshake is 0 ns"},
             {[](tcp_options& o) { o.heartbeat = 0s; }, "heartbeat is 0 ns"},
             {[](tcp_options& o) { o.timeout = 24h * 400; }, "a year"},
             {[](tcp_options& o) { o.dead_after = 79ms; }, "at least four heartbeats"},
             {[](tcp_options& o) { o.budget = 65535; }, "budget is 65535 bytes"},
             {[](tcp_options& o) { o.transfers = -1; }, "room for -1 transfers"}}) {
        tcp_options options = quick(2);
        r.spoil(options);
        const outcome refused = outcome_of([&] { tcp::join(options); });
        CAPTURE(refused.text);
        CHECK(refused.code == errc::invalid_option);
        CHECK(has(refused.text, r.told));
    }
}

TEST_CASE("tcp_options: timeout is deadline::never -> ranks meet, and calls block as ever") {
    tcp_options options = quick(2);
    options.timeout = deadline::never;
    leader first(options);
    tcp_options other = options;
    other.timeout = 5s;
    const outcome refused = join_as(1, other, first.port());
    CHECK(has(refused.text, "timeout 5000000000 ns where rank 0 has deadline::never"));
    CHECK(join_as(1, options, first.port()).joined);
    CHECK(first.end().joined);
}

TEST_CASE("what others could reach needs a secret, and the error says how to get one") {
    tcp_options options = quick(2);
    options.bind = "0.0.0.0";
    const outcome refused = outcome_of([&] { tcp::join(options); });
    CHECK(refused.code == errc::invalid_option);
    CHECK(has(refused.text, "pre_shared_key"));
}

TEST_CASE("join: a process of another user comes -> it is turned away, unless that is allowed") {
    if (::geteuid() != 0) {
        MESSAGE("skipped: only root becomes another user");
        return;
    }
    for (const bool allowed : {false, true}) {
        CAPTURE(allowed);
        tcp_options options = quick(2);
        options.join = allowed ? 10s : 500ms;
        options.allow_other_users = allowed;
        const testing::listener heard;
        auto first = std::make_unique<tcp::meeting>(options);
        const std::uint16_t port = first->port();
        testing::processes others;
        using line = std::array<char, 512>;
        others.start([&](auto say) {
            first.reset();
            REQUIRE(::setuid(1234) == 0);
            line text{};
            const outcome end = join_as(1, options, port);
            (end.joined ? "joined" : end.text).copy(text.data(), text.size() - 1);
            say(text);
        });
        const outcome end = outcome_of([&] { first->join(); });
        line text{};
        REQUIRE(others.hear(0, text));
        if (allowed) {
            CHECK(end.joined);
            CHECK(std::string(text.data()) == "joined");
            continue;
        }
        CHECK(end.code == errc::timed_out);
        const std::string why =
            "it is a process of user 1234, and this one is user 0's; give all "
            "ranks a secret (tcp_options::security), or set "
            "tcp_options::allow_other_users";
        CHECK(has(end.text, ("; one was turned away: " + why).c_str()));
        REQUIRE(heard.all().size() == 1);  // however often it came
        CHECK(heard.all()[0].text == "turned away a connection from 127.0.0.1: " + why);
        CHECK(has(text.data(), "or is a process of another user"));
    }
}

TEST_CASE("join: another user listens where rank 0 is expected -> refused at once, by its number") {
    if (::geteuid() != 0) {
        MESSAGE("skipped: only root becomes another user");
        return;
    }
    tcp_options options = quick(2);
    options.join = 1min;
    options.allow_other_users = true;
    testing::processes others;
    others.start([&](auto say) {
        REQUIRE(::setuid(1234) == 0);
        tcp::meeting meeting(options);
        say(meeting.port());
        outcome_of([&] { meeting.join(); });
    });
    std::uint16_t port = 0;
    REQUIRE(others.hear(0, port));
    options.allow_other_users = false;
    const outcome refused = join_as(1, options, port);
    CHECK(refused.code == errc::mismatch);
    CHECK(has(refused.text,
              ", where rank 0 is expected, is a port of user 1234, and this process "
              "is user 0's; give all ranks a secret"));
}

TEST_CASE("join: it cannot be found out whose the others are -> refused, with the ways out") {
    testing::processes without;
    using line = std::array<char, 512>;
    without.start([](auto say) {
        // Nobody in a namespace of users without names is any of them.
        line text{};
        if (::geteuid() != 0 || ::setresuid(65534, 65534, 65534) != 0 ||
            ::unshare(CLONE_NEWUSER) != 0)
            return say(text);
        const tcp_options options = quick(2);
        leader first(options);
        (void)join_as(1, options, first.port());
        first.end().text.copy(text.data(), text.size() - 1);
        say(text);
    });
    line text{};
    REQUIRE(without.hear(0, text));
    if (text[0] == '\0') {
        MESSAGE("skipped: this user makes no user namespaces");
        return;
    }
    CHECK(has(text.data(), "tcp: rank 0 cannot find out which user's processes connect to it: "));
    CHECK(has(text.data(), "tcp_options::allow_other_users"));
}

TEST_CASE("a socket that a launcher opened is where rank 0 listens") {
    const int handle = ::socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(handle >= 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(handle, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(::listen(handle, 8) == 0);
    tcp_options options = quick(2);
    options.listener = handle;
    leader first(options);
    options.listener = -1;
    CHECK(join_as(1, options, first.port()).joined);
    CHECK(first.end().joined);
    options.listener = 0;  // whatever that is, it does not listen
    CHECK(outcome_of([&] { tcp::join(options); }).code == errc::invalid_option);
}

TEST_CASE("join: a name leads to a dead address at first -> ranks meet at the next one") {
    for (const bool elastic : {false, true})
        for (const bool answers : {true, false}) {  // that nobody is there, or nothing at all
            CAPTURE(elastic);
            CAPTURE(answers);
            tcp_options options = quick(2);
            options.elastic = elastic;
            options.handshake = 1min;
            options.join = 30s;
            options.timeout = 20s;
            leader first(options);
            // Beside it, at the same port, one whose queue is full, so that connections wait.
            const testing::full_queue dead(answers ? 0 : first.port());
            std::atomic<int> asked = 0;
            const resolver by = [&](const std::string&) {
                resolved answer;
                answer.addresses.push_back(
                    asio::ip::make_address(++asked <= 1 ? "127.0.0.2" : "127.0.0.1"));
                return answer;
            };
            tcp_options own = options;
            own.rank = 1;
            own.port = first.port();
            own.address = "rank-0.localhost";
            const outcome second = outcome_of([&] {
                auto context = open_context(own);
                const tcp_connections made = elastic ? tcp_rendezvous(context, own, by).run()
                                                     : tcp_join(context, own, by).run();
                CHECK(made.control[0]);
                CHECK(made.data[0]);
            });
            CHECK(second.text == "");
            CHECK(asked >= 2);
            first.end();
        }
}
