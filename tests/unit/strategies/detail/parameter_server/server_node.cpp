#include "sotto/strategies/detail/parameter_server/server_node.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/field_visitor.hpp"
#include "sotto/checkpoint/detail/folder_owner.hpp"
#include "sotto/checkpoint/detail/saved_fields.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/strategies/detail/parameter_server/server_roles.hpp"
#include "sotto/strategies/detail/shard.hpp"
#include "sotto/transports/diagnostics.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/wire/detail/protocols/push.hpp"
#include "support/memory_disk.hpp"

using namespace sotto;

namespace {

/// The transport of rank 0 of three: what comes is handed in, and what is sent has left at once.
struct handed_in {
    std::deque<std::pair<int, bytes>> pushes;  // of which rank
    mutable_byte_view room{};
    std::vector<std::pair<int, detail::wire::parameters_kind>>
        heads{};  // that were sent, to which rank

    int rank() const { return 0; }
    int size() const { return 3; }
    time_point now() const { return {}; }
    void charge(work) {}
    request send(int to, tag label, byte_view out) {
        if (label.item % 2 == 0)
            heads.emplace_back(to, detail::wire::read_parameters_header(out).value("a head").kind);
        return {.slot = 0};
    }
    request receive(int, tag, mutable_byte_view in) {
        room = in;
        return {.slot = 1};
    }
    std::optional<completion> poll(request r) {
        if (r.slot == 0) return completion{};
        if (pushes.empty()) return std::nullopt;
        const auto [source, content] = std::move(pushes.front());
        pushes.pop_front();
        std::copy(content.begin(), content.end(), room.begin());
        return completion{.source = source, .bytes = static_cast<std::int64_t>(content.size())};
    }
    completion wait(request) { return {}; }
    std::uint64_t activity() { return 0; }
    void await(std::uint64_t) {}
    bool agree(bool vote) { return vote; }
    void withdraw() noexcept {}
    void fail(std::string_view) noexcept {}
    void at(peer_failure::job_phase) {}
    void reserve(std::int64_t) {}
    traffic counters() const { return {}; }
};

layout one_number() {
    layout made;
    made.add("w", {1});
    return made;
}

bytes attaching() {
    bytes out(detail::wire::push_head_bytes(0));
    detail::wire::write_push_head({.kind = detail::wire::push_kind::attach}, {}, out.data());
    detail::wire::append_configuration(detail::wire::summary_of({}), out);
    return out;
}

bytes done() {
    bytes out(detail::wire::push_head_bytes(0));
    detail::wire::write_push_head({.kind = detail::wire::push_kind::done}, {}, out.data());
    return out;
}

bytes gradient(std::uint64_t round, std::uint64_t read) {
    const layout tensors = one_number();
    const float one = 1.0f;
    bytes out(detail::wire::push_head_bytes(1));
    none{}.bind(tensors).encode(*tensors.begin(), std::span(&one, 1), out);
    const std::uint64_t size = out.size() - detail::wire::push_head_bytes(1);
    detail::wire::write_push_head({.round = round, .read = read, .clock = round + 1},
                                  std::span(&size, 1), out.data());
    return out;
}

/// The rounds of both workers in what it would save.
std::vector<std::int64_t> saved_rounds(detail::server_node& server) {
    detail::saved_fields fields;
    server.visit(detail::field_visitor(fields));
    std::vector<std::int64_t> found;
    for (const detail::saved_field& field : fields.alike)
        if (field.name.starts_with("rounds of worker "))
            std::memcpy(&found.emplace_back(), field.memory.data(), sizeof(std::int64_t));
    return found;
}

/// A server of two workers, ranks 1 and 2, who have begun. It makes a step of a gradient of each.
struct served_two {
    using options = decltype(parameter_server{sgd{}, bulk_synchronous{}, no_compensation{}, none{},
                                              serving{.dedicated = true}});

    handed_in t;
    layout tensors = one_number();
    detail::server_node server{options{.servers = {.dedicated = true}}, tensors,
                               detail::shards_of(tensors, 1)[0],
                               detail::server_roles(1, true, 0, 3), t};

    served_two() {
        server.survive({});
        begin();
        push({{1, attaching()}, {2, attaching()}});
    }

    void begin() {
        const float start = 0.0f;
        server.begin(std::span(&start, 1));
    }
    void push(std::deque<std::pair<int, bytes>> pushes) {
        t.pushes = std::move(pushes);
        server.serve();
    }
    std::uint64_t version() { return server.server().version(); }
};

}  // namespace

TEST_CASE("a gradient that waits for the others of its round is no round of what a server saves") {
    served_two of;
    using rounds = std::vector<std::int64_t>;
    of.push({{1, gradient(0, 0)}});
    CHECK(of.version() == 0);
    CHECK(saved_rounds(of.server) == rounds{0, 0});
    of.push({{2, gradient(0, 0)}});
    CHECK(of.version() == 1);
    CHECK(saved_rounds(of.server) == rounds{1, 1});

    // Nor where the round is complete because another worker goes.
    of.push({{1, gradient(1, 1)}});
    CHECK(saved_rounds(of.server) == rounds{1, 1});
    of.server.went(2);
    CHECK(of.version() == 2);
    CHECK(saved_rounds(of.server) == rounds{2, 1});
}

TEST_CASE("server_node: it waits for its folder -> each second a sign to the others") {
    using sotto::detail::wire::parameters_kind;
    using testing::memory_files;
    auto* const before = on_diagnostic.exchange(nullptr);
    const memory_files files;
    // A job of another host, of which it is not known whether it lives.
    const detail::checkpoint::claimant other{
        "other", {"far", "another boot", 1, 5, 6}, "its claim"};
    detail::checkpoint::folder_owner elsewhere(files, "run/server0", other);
    std::string why;
    REQUIRE(elsewhere.attempt(why) == detail::checkpoint::ownership::held);
    handed_in t;
    std::vector<std::size_t> sent;
    files.disk().on_pause = [&] { sent.push_back(t.heads.size()); };
    const layout tensors = one_number();
    const serving saving{.dedicated = true, .checkpoints = "run"};
    using options = served_two::options;
    detail::server_node server{
        options{.servers = saving},          tensors, detail::shards_of(tensors, 1)[0],
        detail::server_roles(1, true, 0, 3), t,       files};
    const float start = 0.0f;
    server.begin(std::span(&start, 1));
    on_diagnostic = before;
    REQUIRE(sent.size() == 60);
    for (std::size_t second = 0; second < sent.size(); ++second)
        CHECK(sent[second] == 2 * (second + 1));
    for (const auto& [to, kind] : t.heads) {
        CHECK(to != 0);
        CHECK(kind == detail::wire::parameters_kind::not_yet);
    }
    t.heads.clear();
    t.pushes = {{1, attaching()}, {2, attaching()}};
    server.serve();
    CHECK(t.heads == std::vector{std::pair(1, detail::wire::parameters_kind::whole),
                                 std::pair(2, detail::wire::parameters_kind::whole)});
}

TEST_CASE("who begins anew while others are still sent the end of the time before is taken later") {
    served_two of;
    for (const std::uint64_t round : {0u, 1u, 2u})
        of.push({{1, gradient(round, round)}, {2, gradient(round, round)}});
    of.push({{0, done()}, {1, done()}});
    of.server.went(2);  // all that are there are done
    of.push({{1, attaching()}});
    CHECK(of.t.pushes.size() == 1);
    CHECK(of.server.is_over());

    of.server.begin_again();
    of.server.came(2);
    of.begin();
    of.t.pushes.push_back({2, attaching()});
    of.server.serve();
    CHECK(of.t.pushes.empty());
    of.push({{1, gradient(0, 3)}});  // both go on with clock 1, as in any time
    CHECK(of.version() == 3);
    of.push({{2, gradient(0, 3)}});
    CHECK(of.version() == 4);
}
