#pragma once

#include "sotto/trainer/detail/fit_loop.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "sotto/core/clock.hpp"
#include "sotto/core/config.hpp"
#include "sotto/trainer/detail/checkpointing/training_position.hpp"

namespace sotto::detail {

/// One call of `fit`.
class fit_loop {
public:
    fit_loop(fit_driver& driver, run_position& at, checkpoint_manager& keeper,
             data::sampler& sampler, const fit_terms& terms,
             std::span<const fit_argument> arguments)
        : driver_(driver),
          at_(at),
          keeper_(keeper),
          sampler_(sampler),
          terms_(terms),
          arguments_(arguments) {}

    fit_report run() {
        begin();
        while (!is_over() && do_epoch()) {}
        // A resumed call with nothing left to do still evaluates.
        if (resumed_ && whole_.steps == 0 && !whole_.evaluated) evaluate_at_the_end();
        keeper_.end_fit();
        whole_.step = at_.step;
        whole_.seconds = seconds();
        whole_.served = driver_.report_of_server();
        whole_.losses = driver_.losses();
        for (const fit_argument& a : arguments_)
            if (a.end) a.end(a.to, whole_);
        whole_.incomplete = keeper_.incomplete(whole_.served);
        for (const fit_argument& a : arguments_)
            if (a.incomplete) add_sentence(whole_.incomplete, a.incomplete(a.to));
        return std::move(whole_);
    }

private:
    bool is_over() const noexcept { return at_.fit.ends(terms_.length); }
    double seconds() const { return in_seconds(terms_.all_ranks.now() - start_); }

    void begin() {
        resumed_ = keeper_.resumes();
        at_.fit = keeper_.next_fit();
        for (const fit_argument& a : arguments_)
            if (a.saves && !is_over()) keeper_.require_folder(*a.saves, at_.place());
        const bool begins_anew = !is_over() && !goes_on_with_data();
        keeper_.begin_fit(at_.fit);
        driver_.prepare();
        start_ = terms_.all_ranks.now();
        if (!is_over()) begun_ = driver_.begin();
        if (begun_.is_over) {
            at_.step += at_.fit.pass(begun_.steps - at_.step, sampler_.batches(), terms_.length,
                                     at_.epoch, at_.round);
            resumed_ = true;
        }
        whole_.stopped_early = at_.fit.stopped && !at_.fit.complete(terms_.length);
        const run_info info = this->info(begins_anew);
        for (const fit_argument& a : arguments_)
            if (a.begin) a.begin(a.to, info);
    }

    /// True if an incomplete epoch of an earlier call continues: only over the same data. Ranks
    /// that learn in step all continue it, or none does.
    bool goes_on_with_data() {
        bool goes_on = true;
        if (at_.round > 0) {
            goes_on = at_.source.is(terms_.source);
            if (terms_.in_step) goes_on = terms_.together.agree(goes_on);
            if (!goes_on) ++at_.epoch, at_.round = 0, at_.learnt = {};
        }
        at_.source = terms_.source;
        return goes_on;
    }

    run_info info(bool begins_anew) {
        run_info info = driver_.info();
        info.steps_at_servers = begun_.rounds;
        info.epochs = at_.fit.epochs_left(terms_.length);
        info.steps_max = at_.fit.steps_left(terms_.length);
        info.examples = sampler_.examples();
        info.steps_an_epoch = sampler_.batches();
        info.epochs_before = at_.epoch;
        info.rounds_before = at_.round;
        info.steps_before = at_.step;
        info.resumed = resumed_;
        info.world_size_before = resumed_ ? keeper_.world_size_before() : 0;
        info.over = resumed_ && is_over();
        info.begins_anew = begins_anew;
        info.parameters = &terms_.parameters;
        info.description = terms_.description;
        info.in_step = terms_.in_step;
        return info;
    }

    /// Does one epoch, or the rest of one. Returns true if another may follow.
    bool do_epoch() {
        sampler_.begin_epoch(at_.epoch);
        terms_.all_ranks.at({.round = at_.step, .phase = "beginning an epoch"});
        const epoch_agreement agreed =
            driver_.begin_epoch({sampler_.examples(), terms_.batch_size, stop_ ? 1 : 0, at_.round});
        if (const auto passed = std::exchange(begun_.rounds, 0); passed > 0) {
            at_.step += at_.fit.skip(passed, agreed.rounds, terms_.length, at_.epoch, at_.round);
            if (is_over()) accumulate_costs(whole_.total, driver_.finish());
            return true;
        }
        if (agreed.stop || has_no_rounds(agreed, terms_.in_step)) {
            whole_.stopped_early = stop_ = agreed.stop;
            accumulate_costs(whole_.total, driver_.finish());
            evaluate_at_the_end();
            save(std::nullopt, true);
            return false;
        }
        const std::int64_t number = at_.epoch + 1;
        round_report total;
        const bool complete = do_rounds(agreed.rounds, total);
        if (complete) ++whole_.epochs, ++at_.fit.epochs;
        end_epoch(number, complete, total);
        return true;
    }

    /// Returns true if the epoch is complete.
    bool do_rounds(std::int64_t rounds, round_report& total) {
        while (true) {
            const double done = static_cast<double>(at_.round) / static_cast<double>(rounds);
            const double epoch = static_cast<double>(at_.epoch) + done;
            const round_report round = driver_.round(rounds, epoch);
            ++at_.step, ++at_.round;
            const bool complete = at_.round >= rounds;
            if (complete) ++at_.epoch, at_.round = 0;
            ++whole_.steps, ++at_.fit.steps;
            accumulate(total, round);
            at_.learnt.add(round.loss, round.examples);
            const step_report report{
                .step = at_.step, .epoch = epoch, .seconds = seconds(), .round = round};
            for (const fit_argument& a : arguments_)
                if (a.step) a.step(a.to, report);
            if (complete || is_over()) return complete;
            save(std::nullopt, false);
        }
    }

    void end_epoch(std::int64_t number, bool complete, round_report& total) {
        const bool last = is_over();
        if (last) accumulate_costs(total, driver_.finish());
        accumulate(whole_.total, total);
        const learnt_so_far learnt = driver_.in_epoch(at_.learnt, at_.step);
        epoch_report report{.loss = learnt.mean(), .examples = learnt.examples};
        report.epoch = number;
        report.complete = complete;
        report.step = at_.step;
        report.total = total;
        if (complete) at_.learnt = {};
        const auto served = driver_.report_of_server();
        report.served = served ? &*served : nullptr;
        for (const fit_argument& a : arguments_)
            if (a.evaluate && (last || report.epoch % a.every == 0))
                report.evaluated = a.evaluate(terms_.trainer, a.to);
        report.seconds = seconds();
        whole_.loss = report.loss;
        if (report.evaluated) whole_.evaluated = report.evaluated;
        for (const fit_argument& a : arguments_)
            if (a.epoch && a.epoch(a.to, report) == fit_control::stop) stop_ = true;
        save(complete ? std::optional(at_.epoch) : std::nullopt, last);
    }

    /// Needed if the last epoch was known to be the last only after its report, or if there was no
    /// epoch.
    void evaluate_at_the_end() {
        for (const fit_argument& a : arguments_)
            if (a.evaluate && (whole_.epochs == 0 || at_.epoch % a.every != 0))
                whole_.evaluated = a.evaluate(terms_.trainer, a.to);
    }

    void save(std::optional<std::int64_t> completed, bool last) {
        for (const fit_argument& saving : arguments_) {
            if (!saving.saves) continue;
            const training_position now = at_.place(stop_);
            if (!keeper_.is_due(*saving.saves, now, completed, last)) continue;
            checkpoint_report report = keeper_.save(*saving.saves, now);
            report.seconds = seconds();
            keeper_.note(*saving.saves, report, whole_);
            for (const fit_argument& a : arguments_)
                if (a.checkpoint) a.checkpoint(a.to, report);
        }
    }

    fit_driver& driver_;
    run_position& at_;
    checkpoint_manager& keeper_;
    data::sampler& sampler_;
    const fit_terms& terms_;
    std::span<const fit_argument> arguments_;
    fit_report whole_;
    fit_start begun_;
    time_point start_{};
    bool resumed_ = false, stop_ = false;
};

SOTTO_DECL fit_report run_fit(fit_driver& driver, run_position& at, checkpoint_manager& keeper,
                              data::sampler& sampler, const fit_terms& terms,
                              std::span<const fit_argument> arguments) {
    return fit_loop(driver, at, keeper, sampler, terms, arguments).run();
}

}  // namespace sotto::detail
