// One rank's compressor writes what no rank can read: every rank names that rank, the tensor and
// the phase, whichever rank decodes it first.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "sotto/collectives/hierarchical.hpp"
#include "sotto/compressors/compressor.hpp"
#include "sotto/strategies/parameter_server/consistency/asynchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/exit_code.hpp"
#include "sotto/core/result.hpp"
#include "sotto/strategies/gossip/mixing/choco.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/local_updates.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/strategies/noloco.hpp"
#include "sotto/topologies/complete.hpp"
#include "sotto/topologies/ring.hpp"
#include "support/over_simulated.hpp"
#include "support/over_tcp.hpp"
#include "support/training.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

constexpr sgd plain{.learning_rate = 0.0625};
constexpr std::int64_t rounds_before = 2;  // that all ranks can read

/// What becomes of a message.
enum class harm { none, shorter, longer, empty };

/// Floats as they are, but for the messages of one rank for one tensor after some rounds.
struct harmful {
    harm how = harm::none;
    int rank = 1;

    class state {
    public:
        state(harm how, int rank) : how_(how), rank_(rank) {}
        void begin_round(const round_info& where) { harms_ = where.rank == rank_; }
        void encode(const tensor& t, std::span<const float> gradient, bytes& out) {
            const auto raw = std::as_bytes(gradient);
            out.insert(out.end(), raw.begin(), raw.end());
            if (t.name != "first.bias" || !harms_ || rounds_++ < rounds_before) return;
            switch (how_) {
                case harm::none: break;
                case harm::shorter: out.pop_back(); break;
                case harm::longer: out.push_back(std::byte{0}); break;
                case harm::empty: out.resize(out.size() - raw.size()); break;
            }
        }
        void decode_add(const tensor& t, byte_view message, std::span<float> sum) {
            if (message.size() != 4 * sum.size())
                throw malformed(
                    detail::message_of{t}(),
                    {0, "a float for every element", static_cast<std::int64_t>(message.size())});
            for (std::size_t i = 0; i < sum.size(); ++i) {
                float value;
                std::memcpy(&value, message.data() + 4 * i, sizeof value);
                sum[i] += value;
            }
        }

    private:
        harm how_;
        int rank_;
        bool harms_ = false;
        std::int64_t rounds_ = 0;
    };
    state bind(const layout&) const { return {how, rank}; }
};

/// What each rank throws; empty: nothing. `blamed` must be the rank that every one names.
template <class Over, class Strategy>
void all_name(int blamed, int world, const Strategy& strategy) {
    std::vector<std::string> causes(static_cast<std::size_t>(world));
    try {
        Over::run(world, [&](auto& transport) {
            number_model model(small_layout());
            auto& cause = causes[static_cast<std::size_t>(transport.rank())];
            try {
                trainer trainer{model, strategy, transport, {.batch_size = 4}};
                trainer.fit(numbered{96}, steps{6});
                cause = "nothing";
            } catch (const peer_failure& e) {
                CHECK(e.code() == make_error_code(errc::malformed));
                CHECK(e.rank() == blamed);
                const std::string phase = e.when().phase;
                CHECK(phase != "idle");
                CHECK(std::string(e.what()).find("noticed in phase '" + phase + "'") !=
                      std::string::npos);
                cause = e.cause();
                throw;
            } catch (const std::exception& e) {
                cause = e.what();
                throw;
            }
        });
    } catch (const std::exception&) {}
    for (const std::string& cause : causes) {
        CHECK(cause.starts_with("what it sent cannot be read: "));
        CHECK(cause.find("the message for tensor 'first.bias': at byte 0 expected a float for "
                         "every element, found ") != std::string::npos);
        CHECK(cause == causes[0]);
    }
}

template <class Over = over_in_process>
void every_strategy_names(harm how) {
    const harmful bad{how};
    all_name<Over>(1, 3, all_reduce{plain, bad});
    all_name<Over>(1, 3, local_updates{plain, all_reduce{plain, bad}, {.every = 1}});
    all_name<Over>(1, 3, gossip{plain, topologies::ring{}, no_control{}, bad, mixing::choco{}});
    all_name<Over>(1, 3, parameter_server{plain, asynchronous{}, no_compensation{}, bad});
    all_name<Over>(1, 3, parameter_server{plain, bulk_synchronous{}, no_compensation{}, bad});
}

}  // namespace

TEST_CASE("unreadable message: short, long or empty -> all ranks name its sender") {
    for (const harm how : {harm::shorter, harm::longer, harm::empty}) {
        CAPTURE(static_cast<int>(how));
        every_strategy_names(how);
    }
}

TEST_CASE("unreadable message: TCP, simulated network -> all name its sender") {
    every_strategy_names<over_tcp>(harm::shorter);
    every_strategy_names<over_simulated>(harm::empty);
}

TEST_CASE("unreadable message: of the last or first rank -> that rank is named") {
    all_name<over_in_process>(3, 4, all_reduce{plain, harmful{harm::shorter, 3}});
    all_name<over_in_process>(0, 4, all_reduce{plain, harmful{harm::empty, 0}});
}

TEST_CASE("unreadable message: of a host -> its first rank is named") {
    // Hosts of two ranks: host 1 begins with rank 2.
    all_name<over_in_process>(2, 6,
                              all_reduce{plain, harmful{harm::shorter, 1},
                                         collectives::hierarchical{.ranks_per_host = 2}});
    all_name<over_in_process>(
        2, 6,
        all_reduce{plain, harmful{harm::empty, 1}, collectives::hierarchical{.ranks_per_host = 2}});
}

TEST_CASE("unreadable message: in a meeting of pairs -> all name its sender") {
    for (const harm how : {harm::shorter, harm::empty})
        all_name<over_in_process>(
            1, 4, local_updates{plain, compressed_pairs{harmful{how}}, {.every = 1}});
}

TEST_CASE("unreadable message: ranks may leave -> its sender leaves, others train") {
    for (const harm how : {harm::shorter, harm::empty}) {
        std::vector<std::int64_t> steps_done(4, -1);
        std::vector<std::string> lost(4);
        try {
            over_simulated::run(4, [&](auto& transport) {
                const auto rank = static_cast<std::size_t>(transport.rank());
                number_model model(small_layout());
                const parameter_server strategy{plain, asynchronous{}, no_compensation{},
                                                harmful{how}, serving{.survives = true}};
                trainer trainer{model, strategy, transport, {.batch_size = 4}};
                const auto report = trainer.fit(numbered{96}, epochs{1});
                steps_done[rank] = report.steps;
                for (const detail::rank_loss& l : report.losses) {
                    CHECK(l.rank == 1);
                    lost[rank] = l.cause;
                }
            });
        } catch (const peer_failure&) {}
        CHECK(steps_done[1] == -1);
        for (const std::size_t rank : {0u, 2u, 3u}) CHECK(steps_done[rank] == 6);
        CHECK(lost[0].find("the message for tensor 'first.bias'") != std::string::npos);
    }
}

TEST_CASE("unreadable message: of a server's own worker, ranks may leave -> its rank ends") {
    for (const double patience : {0.0, 1.0}) {
        CAPTURE(patience);
        int named = -1;
        try {
            over_simulated::run(3, [&](auto& transport) {
                number_model model(small_layout());
                const parameter_server strategy{plain, asynchronous{}, no_compensation{},
                                                harmful{harm::shorter, 0},
                                                serving{.survives = true, .patience = patience}};
                trainer trainer{model, strategy, transport, {.batch_size = 4}};
                try {
                    trainer.fit(numbered{96}, epochs{1});
                } catch (const peer_failure& e) {
                    if (transport.rank() == 0) {
                        named = e.rank();
                        CHECK(e.code() == make_error_code(errc::malformed));
                        CHECK(exit_code_of(e) == exit_code::fault);
                    }
                    throw;
                }
            });
        } catch (const std::exception&) {}
        CHECK(named == 0);
    }
}

TEST_CASE("unreadable message: none, ranks without data -> nothing is refused") {
    const auto expected = train(3, all_reduce{plain}, {.own = {8, 0, 4}});
    const auto found = train(3, all_reduce{plain, harmful{}}, {.own = {8, 0, 4}});
    for (std::size_t rank = 0; rank < 3; ++rank)
        CHECK(distance(found[rank], expected[rank]) < 1e-5);
    const all_reduce by_hosts{plain, harmful{}, collectives::hierarchical{.ranks_per_host = 2}};
    CHECK(agree(train(5, by_hosts, {.own = {8, 4, 0, 0, 4}})));
}
