#pragma once

#define XXH_INLINE_ALL  // it is used by its header alone
#include <xxhash.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "books.hpp"
#include "sotto/core/random.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/data/labelled_set.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"

namespace bench {

inline constexpr std::array phases{"rendezvous", "handshake", "idle",  "compute",   "send",
                                   "reduce",     "agree",     "apply", "checkpoint"};

/// The round, counted from 0, in which a rank ends, and how many rounds there are in an epoch.
inline constexpr std::int64_t last_round = 3, rounds_an_epoch = 8, batch_size = 32;

/// One rank ends in a phase. How many live before it does is what `ranks` says: in the rendezvous
/// one more is waited for that never comes.
struct trial {
    std::string phase = phases[0];
    int number = 0;
    int ranks = 2;
    int signal = SIGKILL;
    std::uint16_t port = 0;
    std::filesystem::path folder{};  // of checkpoints

    int victim() const noexcept { return number % ranks; }
    int size() const noexcept { return phase == "rendezvous" ? ranks + 1 : ranks; }

    /// Whether survivors may stand after so many rounds, all alike: after those that its victim
    /// completed, or without the last of them, for which its vote may have been lost with it.
    bool may_stand_after(std::int64_t rounds) const noexcept {
        const std::int64_t completed = phase == "apply" ? last_round + 1 : last_round;
        return rounds == completed || rounds == completed - 1;
    }

    /// The connection at which it ends in a handshake, each in its turn: of those that it makes or
    /// that are made to it once all ranks know each other. Before, it is a stranger to all.
    int connection() const noexcept {
        const int known = victim() == 0 ? ranks : 2, all = 2 * (ranks - 1);
        return known + number / ranks % (all - known + 1);
    }
};

/// What a rank holds after a round, as digests.
struct standing {
    std::uint64_t parameters = 0;
    std::uint64_t remembered = 0;  // by the optimizer and the compressor

    friend bool operator==(const standing&, const standing&) = default;
};

/// Adds what it is shown to a digest.
class digesting {
public:
    explicit digesting(std::uint64_t& digest) noexcept : digest_(&digest) {}

    void operator()(std::string_view name, std::span<float> values, sotto::kept = {}) const {
        add(name.data(), name.size());
        add(values.data(), values.size_bytes());
    }
    void operator()(std::string_view name, auto& value, sotto::kept = {}) const {
        add(name.data(), name.size());
        add(&value, sizeof value);
    }

private:
    void add(const void* what, std::size_t size) const {
        *digest_ = XXH3_64bits_withSeed(what, size, *digest_);
    }

    std::uint64_t* digest_;
};

template <class Trainer>
standing standing_of(Trainer& trainer) {
    const auto values = trainer.parameters();
    standing found{.parameters = XXH3_64bits(values.data(), values.size_bytes())};
    trainer.state().visit(digesting(found.remembered));
    return found;
}

/// The training that all trials of so many ranks do, and what it leads to if nothing happens.
class undisturbed {
public:
    explicit undisturbed(int ranks)
        : digits_(
              sotto::data::digits(ranks * batch_size * rounds_an_epoch, sotto::random_stream{1})),
          standings_(static_cast<std::size_t>(ranks)) {
        sotto::run_in_process(ranks, [&](sotto::in_process& through) {
            with_trainer(through, [&](auto& trainer) {
                auto& own = standings_[static_cast<std::size_t>(through.rank())];
                own.push_back(standing_of(trainer));
                trainer.fit(digits_, sotto::steps{last_round + 2},
                            [&](const auto&) { own.push_back(standing_of(trainer)); });
            });
        });
    }

    const auto& digits() const noexcept { return digits_; }

    const standing& after(int rank, std::int64_t rounds) const {
        return standings_.at(static_cast<std::size_t>(rank)).at(static_cast<std::size_t>(rounds));
    }

    template <class Transport, class Use>
    static void with_trainer(Transport& through, Use use) {
        exact_model model{784, 256, 10};
        const sotto::all_reduce strategy{sotto::momentum_sgd{.learning_rate = 0.05},
                                         top_k_with_books{}};
        sotto::trainer trainer{model, strategy, through, {.batch_size = batch_size, .seed = 1}};
        use(trainer);
    }

private:
    sotto::data::labelled_set digits_;
    std::vector<std::vector<standing>> standings_;  // by rank and rounds
};

}  // namespace bench
