#pragma once

#include <dirent.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "forked.hpp"
#include "mortal.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/trainer/checkpoints.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/tcp.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "trial.hpp"

namespace bench {

/// What a process holds of the system's.
struct holdings {
    int threads = 0;
    int descriptors = 0;

    static holdings now() { return {entries_of("/proc/self/task"), entries_of("/proc/self/fd")}; }

    friend bool operator==(const holdings&, const holdings&) = default;

private:
    static int entries_of(const char* folder) {
        int count = 0;
        DIR* const open = ::opendir(folder);
        while (::readdir(open)) ++count;
        ::closedir(open);
        return count;
    }
};

/// One rank of a trial: ends as the trial says, or tells when it noticed that another one did, and
/// what then was not as it must be.
class participant {
public:
    participant(const trial& of, int rank, const undisturbed& expected, int tells)
        : of_(of),
          rank_(rank),
          expected_(&expected),
          tells_(tells),
          how_{.round = last_round, .signal = of.signal, .tells = tells} {
        if (rank == of.victim()) how_.phase = of.phase;
    }

    void take_part(const std::shared_ptr<const sotto::detail::tcp_security>& security) {
        const holdings before = holdings::now();
        std::thread timer = end_of_rendezvous();
        try {
            sotto::tcp through = sotto::tcp::join(options(security));
            mortal mortal_through(through, how_);
            undisturbed::with_trainer(mortal_through, [&](auto& trainer) { train(trainer); });
        } catch (const sotto::peer_failure& e) {
            notice(e);
        } catch (const std::exception& e) {
            wrong_.push_back(std::string("it says: ") + e.what());
        }
        require_nothing_left(before);
        tell(tells_,
             nlohmann::json{{"noticed", noticed_}, {"rounds", rounds_}, {"wrong", wrong_}}.dump());
        if (timer.joinable()) timer.join();
    }

private:
    /// Long after its hello: the last rank never comes, and all others wait for it.
    std::thread end_of_rendezvous() const {
        if (how_.phase != "rendezvous") return {};
        return std::thread([how = how_] {
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            how.come();
        });
    }

    sotto::tcp_options options(
        const std::shared_ptr<const sotto::detail::tcp_security>& security) const {
        sotto::tcp_options made;
        made.rank = rank_;
        made.size = of_.size();
        made.port = of_.port;
        // Every other time around, and where a rank is to end while it connects.
        if (of_.phase == "handshake" || of_.number / of_.ranks % 2 == 1) made.security = security;
        if (how_.phase == "handshake")
            made.security = std::make_shared<mortal_security>(security, how_, of_.connection());
        return made;
    }

    void train(auto& trainer) {
        const auto idle = [&](const sotto::step_report& step) {
            if (how_.phase == "idle" && step.step == last_round) how_.come();
        };
        const auto length = sotto::steps{last_round + 2};
        try {
            if (of_.phase == "checkpoint")
                trainer.fit(expected_->digits(), length, idle,
                            sotto::checkpoints(of_.folder, {.every_steps = last_round}));
            else
                trainer.fit(expected_->digits(), length, idle);
        } catch (const sotto::peer_failure& e) {
            notice(e);
            judge(trainer);
            throw;
        }
        wrong_.emplace_back("it trained to the end");
    }

    void notice(const sotto::peer_failure& e) {
        if (noticed_ > 0.0) return;
        noticed_ = monotonic_seconds();
        if (e.rank() != of_.victim() ||
            e.code() != sotto::make_error_code(sotto::errc::peer_failed))
            wrong_.push_back(std::string("it says: ") + e.what() + " (" + e.code().message() + ")");
    }

    void judge(auto& trainer) {
        rounds_ = trainer.step();
        if (!of_.may_stand_after(rounds_)) {
            wrong_.push_back("it stands after " + std::to_string(rounds_) + " rounds");
            return;
        }
        const standing &found = standing_of(trainer), &expected = expected_->after(rank_, rounds_);
        if (found.parameters != expected.parameters)
            wrong_.emplace_back("its parameters are not those of the last completed round");
        if (found.remembered != expected.remembered)
            wrong_.emplace_back("its optimizer or residuals are not those of that round");
        if (!trainer.state().compressor().balances())
            wrong_.emplace_back("sent and remembered do not add up to what was given");
    }

    /// A thread that was joined may be listed for a moment.
    void require_nothing_left(const holdings& before) {
        const double until = monotonic_seconds() + 1.0;
        holdings after = holdings::now();
        while (after != before && monotonic_seconds() < until) {
            std::this_thread::yield();
            after = holdings::now();
        }
        const auto require = [&](const char* what, int had, int has) {
            if (had != has)
                wrong_.push_back(std::to_string(has - had) + " " + what + " more than before");
        };
        require("threads", before.threads, after.threads);
        require("descriptors", before.descriptors, after.descriptors);
    }

    trial of_;
    int rank_;
    const undisturbed* expected_;
    int tells_;
    death how_;
    double noticed_ = 0.0;
    std::int64_t rounds_ = -1;  // that it stands after
    std::vector<std::string> wrong_;
};

}  // namespace bench
