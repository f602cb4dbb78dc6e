#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/collectives/detail/broadcast.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/data/dataset.hpp"
#include "sotto/data/sampler.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/trainer/callback.hpp"
#include "sotto/trainer/checkpoints.hpp"
#include "sotto/trainer/detail/agreement.hpp"
#include "sotto/trainer/detail/batch_reader.hpp"
#include "sotto/trainer/detail/checkpointing/run_chance.hpp"
#include "sotto/trainer/detail/checkpointing/run_keeper.hpp"
#include "sotto/trainer/detail/checkpointing/run_place.hpp"
#include "sotto/trainer/detail/checkpointing/saved_run.hpp"
#include "sotto/trainer/detail/evaluator.hpp"
#include "sotto/trainer/detail/fit_progress.hpp"
#include "sotto/trainer/detail/fit_request.hpp"
#include "sotto/trainer/detail/learnt_by_all.hpp"
#include "sotto/trainer/detail/located.hpp"
#include "sotto/trainer/detail/model_buffers.hpp"
#include "sotto/trainer/detail/run_description.hpp"
#include "sotto/trainer/detail/strategy_info.hpp"
#include "sotto/trainer/detail/tensor_names.hpp"
#include "sotto/trainer/options.hpp"
#include "sotto/trainer/reports.hpp"
#include "sotto/trainer/resume_report.hpp"
#include "sotto/transports/tolerant_transport.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto {

/// Trains a model on every rank of a transport by a strategy: reads batches, does rounds, measures
/// what they cost and tells callbacks. One trainer on each rank, made and used alike on all of
/// them; it refers to the model and the transport, and owns the parameters.
///   errors  the constructor and fit throw mismatch, the same on all ranks, when ranks were given
///           different options; the constructor throws invalid_option if no file could name the
///           model's tensors; fit throws peer_failure when another rank fails, and whatever the
///           model or a callback throws. Parameters and all state then stand as after the last
///           completed round
template <class Model, class Strategy, class Transport>
class trainer {
    static_assert(gradient_source<Model>,
                  "trainer: the model must be a gradient_source: it needs batch_type, layout(), "
                  "initialise(parameters, random) and gradient(parameters, batch, out, on_ready)");
    static_assert(predictor<Model> || !detail::conducting::needs_logits<Strategy>,
                  "trainer: this strategy asks for logits, so the model must be a predictor");
    static_assert(transport<Transport>,
                  "trainer: the third argument must be a transport: rank(), size(), send, receive, "
                  "poll, wait, activity, await, agree, withdraw, fail, at, reserve, now, "
                  "charge and counters");
    static_assert(strategy<Strategy>,
                  "trainer: the second argument must be a strategy: it needs synchronous and "
                  "bind(layout, transport) with share(), begin_epoch(epoch_plan) and "
                  "round(task, parameters)");
    static_assert(!detail::conducting::loses_ranks<Strategy> || tolerant_transport<Transport>,
                  "gossip: on this transport the loss of a rank ends the job: leave surviving{} "
                  "out");

public:
    /// Blocks until all ranks made theirs and agree; not where ranks may come at any time.
    trainer(Model& model, const Strategy& strategy, Transport& transport,
            training_options options = {})
        : model_(detail::require_names(model)),
          transport_(transport),
          options_(options),
          parameters_(static_cast<std::size_t>(model.layout().size())),
          state_(strategy.bind(model.layout(), transport_)),
          chance_(options.seed, state_, transport_),
          together_(detail::conducting::together(state_, transport_)),
          buffers_(model, together_),
          all_(model, state_, parameters_, buffers_, options.checked().batch_size, together_),
          description_(detail::describe_run(options_, strategy, model)),
          saved_(model, state_, parameters_, learnt_),
          keeper_(saved_, together_, description_, options.seed) {
        const bool alone = detail::conducting::introduce(state_, description_);
        if (!alone) detail::require_agreement(transport_, description_);
        model.initialise(parameters_, chance_.of_group("parameters"));
        if (alone || !chance_.one_start()) return;
        detail::collectives::broadcast<> same_start(transport_, model.layout().size());
        same_start.start(std::span<float>(parameters_), {channels::set_up, 2, 0});
        detail::collectives::run(transport_, same_start);
    }

    trainer(const trainer&) = delete;
    trainer& operator=(const trainer&) = delete;

    /// Trains on the data for a number of `epochs` or `steps`. Further arguments are callbacks,
    /// `evaluate_on` a data set and `checkpoints` in a folder. Every rank is given the same data,
    /// and reads the share that the strategy gives it; `own_share` says that the data are this
    /// rank's alone.
    ///
    /// A rank without examples takes part in the rounds of ranks in step; otherwise it waits until
    /// the others are done. If no rank has examples, `fit` throws invalid_option, unless ranks may
    /// join and leave: then it ends without a step.
    ///
    /// Called again, it goes on from where it ended, in the middle of an epoch too: `steps{3}` and
    /// then `steps{4}` are `steps{7}` to the last bit, if ranks train in step and the end of a call
    /// changes nothing. local_updates ends every call with a meeting: two calls are one there only
    /// if the first does a multiple of `every` steps. `epochs` counts the rest of an epoch
    /// that ended in the middle as one. Where the data are others than then (in number, or whose
    /// they are), that epoch ends where it stood and a new one begins: on all ranks of a
    /// synchronous strategy if on one.
    template <class Data, class... Extras>
    fit_report fit(const Data& data, detail::training_length length, Extras&&... extras) {
        static_assert(dataset<examples_of<Data>>,
                      "fit: the data must be a dataset: it needs batch_type, size() and "
                      "gather(indices, batch) const");
        static_assert(reads<examples_of<Data>>,
                      "fit: the data set's batch_type is not the one that the model reads");
        static_assert((tells_or_evaluates<Extras> && ...),
                      "fit: what follows the length must be evaluate_on{data} or a callback: "
                      "something with on_begin, on_step, on_epoch or on_end, or a function of a "
                      "step_report or epoch_report");
        static_assert((saves<Extras> + ... + 0) <= 1, "fit: checkpoints{folder} may be given once");
        static_assert(saveable || !(saves<Extras> || ...),
                      "checkpoints: the strategy's ranks must train in step and its state must "
                      "have visit(field), which shows everything to be saved; so must a compressor "
                      "with commit or rollback, a controller or mixing method of gossip with "
                      "members, and an optimizer that is not linear: what they remember would be "
                      "lost. Of a parameter_server the servers save: serving{.checkpoints}");
        static_assert((answers_no_step<Extras> && ...),
                      "fit: on_step, or a function of a step_report, must return nothing: what "
                      "stops training is the verdict of on_epoch");
        static_assert((answers_epochs_by_verdict<Extras> && ...),
                      "fit: on_epoch, or a function of an epoch_report, must return nothing or a "
                      "sotto::verdict, verdict::go_on or verdict::stop");
        static_assert(
            detail::measurable<Model> || !(evaluates<Extras> || ...),
            "evaluate: the model must be a predictor (forward, backward, predict, outputs, and "
            "batches with labels()) or have loss(parameters, batch), the mean loss of a batch");
        if constexpr (detail::shared_or_own<Data>::own)
            return run(data.data,
                       state_.share().empty() ? detail::data::share{0, 0} : detail::data::share{},
                       true, length, extras...);
        else
            return run(data, state_.share(), false, length, extras...);
    }

    /// A number alone says too little: of what?
    template <class Data, class Length, class... Extras>
        requires(!std::is_convertible_v<Length, detail::training_length>)
    fit_report fit(const Data&, const Length&, Extras&&...) {
        static_assert(std::is_convertible_v<Length, detail::training_length>,
                      "fit: the second argument says how long to train: sotto::epochs{10} or "
                      "sotto::steps{1000}");
        return {};
    }

    /// Who is told of what was found.
    struct resume_options {
        /// Called on rank 0 if a newer checkpoint than the one that was read is damaged or
        /// unreadable; null: nothing is. The report has the same on every rank.
        void (*on_damage)(const resume_report&) = complain_of_damage;
    };

    /// Goes on from the newest checkpoint in a folder that is whole and can be read: with its
    /// parameters, the model's buffers, what optimizer and compressor remember, chance and the
    /// place in the data. Training then continues bit for bit as if it had not ended, if there are
    /// as many ranks as then. Another number of them keeps the sums of what ranks hold apart, see
    /// detail::run_reader, and is refused where each has parameters of its own. All ranks call it.
    ///
    /// A program that ends too early is simply started again: calls of `fit` are counted, those
    /// that were over when the checkpoint was written do nothing but evaluate, if asked to, and the
    /// one that was under way goes on: what it had done counts, and where a verdict had ended it,
    /// it stays ended. Nothing of callbacks is kept: each begins as in a new run.
    ///
    /// While rank 0 reads the file once to check it, the others wait, for no longer than the
    /// transport's timeout: a disk must give the whole file in less.
    ///   errors  the same on all ranks: io_failure, there is no checkpoint, the folder cannot be
    ///           listed, or no checkpoint can be read; malformed, none is whole; mismatch, the
    ///           newest was written with another configuration, naming the first option that
    ///           differs. Nothing was changed then. What goes wrong later, while the state is
    ///           filled (the disk fails or the file changes, a rank fails), leaves it partly the
    ///           checkpoint's: `fit` and `evaluate` then throw io_failure until a resume succeeds
    template <std::convertible_to<detail::checkpoint::disk> Files = detail::checkpoint::disk>
    resume_report resume(const std::filesystem::path& folder, resume_options options = {},
                         Files files = {}) {
        return restore(folder, true, options, files);
    }

    /// The same, but where there is no checkpoint at all it does nothing, and its report says so.
    template <std::convertible_to<detail::checkpoint::disk> Files = detail::checkpoint::disk>
    resume_report resume_if_there(const std::filesystem::path& folder, resume_options options = {},
                                  Files files = {}) {
        return restore(folder, false, options, files);
    }

    /// How good the model is now on these examples. Ranks that learn in step share them out, and
    /// all get the same answer, by the mean of their parameters, where these differ, and of their
    /// models' buffers; all must call it. Of another strategy each rank measures by itself, with
    /// its own parameters and its own model's buffers, as evaluate_own does.
    template <class Data>
    evaluation evaluate(const Data& data) {
        static_assert(detail::measurable<Model>,
                      "evaluate: the model must be a predictor (forward, backward, predict, "
                      "outputs, and batches with labels()) or have loss(parameters, batch), the "
                      "mean loss of a batch");
        static_assert(dataset<Data>,
                      "evaluate: the data must be a dataset: it needs batch_type, size() and "
                      "gather(indices, batch) const");
        static_assert(reads<Data>,
                      "evaluate: the data set's batch_type is not the one that the model reads");
        keeper_.require_whole_state();
        transport_.at({.round = step_, .phase = "evaluating"});
        return all_.evaluate(data);
    }

    /// How good the mean of all ranks' parameters is, of whatever strategy. All ranks call it and
    /// mean_parameters, between calls of `fit`.
    template <class Data>
    evaluation evaluate_mean(const Data& data) {
        require_all_ranks();
        return all_.evaluate_mean(data);
    }
    /// That mean itself, valid until the next call.
    std::span<const float> mean_parameters() {
        require_all_ranks();
        return all_.mean();
    }

    /// How good this rank's own parameters are, with its own model's buffers. No other rank has
    /// part in it.
    template <class Data>
    evaluation evaluate_own(const Data& data) {
        static_assert(detail::measurable<Model> && dataset<Data> && reads<Data>,
                      "evaluate_own: the model and the data must be such that evaluate takes them");
        keeper_.require_whole_state();
        return all_.evaluate_own(data);
    }

    /// Calls use(model, parameters, ranks) with what evaluate measures: the model has the buffers,
    /// too. Ranks that learn in step all call it, over `ranks`; of another strategy any one may.
    auto with_evaluated(auto&& use) {
        keeper_.require_whole_state();
        transport_.at({.round = step_, .phase = "publishing"});
        return all_.as_one([&](std::span<const float> all) { return use(model_, all, together_); });
    }

    std::span<const float> parameters() const noexcept { return parameters_; }  // this rank's
    const layout& tensors() const noexcept { return model_.layout(); }          // the model's
    const std::string& description() const noexcept { return description_; }    // a line an option
    std::int64_t step() const noexcept { return step_; }  // completed, over all calls of `fit`
    auto& state() noexcept { return state_; }

private:
    using state_type = sotto::strategy_state<Strategy>;
    static constexpr bool in_step = detail::conducting::in_step<Strategy>;

    void require_all_ranks() {
        static_assert(!detail::conducting::loses_ranks<Strategy>,
                      "the mean of all ranks: by gossip with surviving{} some may be gone");
        keeper_.require_whole_state();
        transport_.at({.round = step_, .phase = "taking the mean of all"});
    }

    template <class Extra>
    static constexpr bool evaluates = detail::is_evaluation<std::remove_cvref_t<Extra>>;
    template <class Extra>
    static constexpr bool saves = detail::is_checkpoints<std::remove_cvref_t<Extra>>;
    template <class Extra>
    static constexpr bool tells_or_evaluates = evaluates<Extra> || saves<Extra> || callback<Extra>;

    /// Whether there is all of a run where checkpoints look for it.
    static constexpr bool saveable = [] {
        if constexpr (strategy<Strategy>)
            return in_step && detail::shows_its_state<state_type>;
        else
            return true;  // the other assertion says what is wrong
    }();

    template <class Data>
    using examples_of = typename detail::shared_or_own<Data>::type;

    template <class Data>
    static constexpr bool reads = [] {
        if constexpr (dataset<Data> && gradient_source<Model>)
            return std::is_same_v<typename Data::batch_type, typename Model::batch_type>;
        else
            return true;  // the other assertion says what is wrong
    }();

    template <class Data, class... Extras>
    fit_report run(const Data& data, const detail::data::share& share, bool own,
                   detail::training_length length, Extras&... extras) {
        keeper_.require_whole_state();
        const std::string request = detail::fit_request(data, own, length, extras...);
        if constexpr (in_step) detail::require_agreement(transport_, request);
        detail::data::sampler sampler(
            data.size(), share, options_.batch_size, chance_.of_order("order"), options_.shuffle,
            own ? detail::data::shard{} : detail::conducting::shard(state_),
            chance_.of_all("shards"));
        const detail::run_keeper::training training(keeper_);
        const detail::conducting::fit_scope<state_type> scope(state_);
        bool resumed = keeper_.resumes();
        fit_ = keeper_.next_fit();
        if constexpr (saveable)
            if (!fit_.ends(length)) (require_folder(extras), ...);
        const bool begins_anew =
            !fit_.ends(length) && !goes_on_with({data.size(), sampler.examples(), own});
        keeper_.begin_fit(fit_);
        batches_.begin();
        detail::conducting::deal(state_, own, options_.seed, data.size());
        const time_point start = transport_.now();
        detail::fit_start begun;
        if (!fit_.ends(length))
            begun = detail::conducting::begin(state_, parameters_, buffers_.own());
        if (begun.is_over) {
            step_ += fit_.pass(begun.steps - step_, sampler.batches(), length, epoch_, round_);
            resumed = true;
        }
        run_info info = detail::info_of(state_, transport_, together_);
        info.steps_at_servers = begun.rounds;
        info.epochs = fit_.epochs_left(length);
        info.steps_max = fit_.steps_left(length);
        info.examples = sampler.examples();
        info.steps_an_epoch = sampler.batches();
        info.epochs_before = epoch_;
        info.rounds_before = round_;
        info.steps_before = step_;
        info.resumed = resumed;
        info.world_size_before = resumed ? keeper_.world_size_before() : 0;
        info.over = resumed && fit_.ends(length);
        info.begins_anew = begins_anew;
        info.parameters = &tensors();
        info.description = description_;
        info.in_step = in_step;
        (detail::calling::begin(extras, std::as_const(info)), ...);

        const auto seconds = [&] { return in_seconds(transport_.now() - start); };
        fit_report whole;
        whole.stopped_early = fit_.stopped && !fit_.complete(length);
        bool stop = false;
        const auto save = [&]([[maybe_unused]] std::optional<std::int64_t> completed,
                              [[maybe_unused]] bool last) {
            if constexpr (saveable)
                (save_if_due(extras, place(stop), completed, last, whole, seconds, extras...), ...);
        };
        const auto finish = [&] {
            return detail::conducting::finish(state_, std::span<float>(parameters_), transport_);
        };
        while (!fit_.ends(length)) {
            sampler.begin_epoch(epoch_);
            transport_.at({.round = step_, .phase = "beginning an epoch"});
            const detail::epoch_agreement agreed =
                state_.begin_epoch({sampler.examples(), options_.batch_size, stop ? 1 : 0, round_});
            if (const auto passed = std::exchange(begun.rounds, 0); passed > 0) {
                step_ += fit_.skip(passed, agreed.rounds, length, epoch_, round_);
                if (fit_.ends(length)) accumulate_costs(whole.total, finish());
                continue;
            }
            if (agreed.stop || detail::has_no_rounds(agreed, in_step)) {
                whole.stopped_early = stop = agreed.stop;
                accumulate_costs(whole.total, finish());
                (evaluate_at_the_end(extras, whole), ...);
                save(std::nullopt, true);
                break;
            }
            const std::int64_t number = epoch_ + 1;
            bool complete = false;
            round_report total;
            while (!complete && !fit_.ends(length)) {
                const double done =
                    static_cast<double>(round_) / static_cast<double>(agreed.rounds);
                const double at = static_cast<double>(epoch_) + done;
                const round_report round = do_round(data, sampler, agreed.rounds, at);
                complete = round_ >= agreed.rounds;
                if (complete) ++epoch_, round_ = 0;
                ++whole.steps, ++fit_.steps;
                accumulate(total, round);
                learnt_.add(round.loss, round.examples);
                [[maybe_unused]] const step_report report{
                    .step = step_, .epoch = at, .seconds = seconds(), .round = round};
                (detail::calling::step(extras, report), ...);
                if (!complete && !fit_.ends(length)) save(std::nullopt, false);
            }
            if (complete) ++whole.epochs, ++fit_.epochs;
            const bool last = fit_.ends(length);
            if (last) accumulate_costs(total, finish());
            accumulate(whole.total, total);
            const detail::learnt_so_far learnt = all_.in_epoch(learnt_, step_);
            epoch_report report{.loss = learnt.mean(), .examples = learnt.examples};
            report.epoch = number;
            report.complete = complete;
            report.step = step_;
            report.total = total;
            if (complete) learnt_ = {};
            const auto served = detail::conducting::report_of_server(state_);
            report.served = served ? &*served : nullptr;
            (evaluate_if_asked(extras, report, last), ...);
            report.seconds = seconds();
            whole.loss = report.loss;
            if (report.evaluated) whole.evaluated = report.evaluated;
            ((stop |= detail::calling::epoch(extras, report) == verdict::stop), ...);
            save(complete ? std::optional(epoch_) : std::nullopt, last);
        }
        // What was resumed had nothing left to do: how good it is was asked for nevertheless.
        if (resumed && whole.steps == 0 && !whole.evaluated)
            (evaluate_at_the_end(extras, whole), ...);
        keeper_.end_fit();
        whole.step = step_;
        whole.seconds = seconds();
        whole.served = detail::conducting::report_of_server(state_);
        whole.losses = detail::conducting::losses(state_);
        (detail::calling::end(extras, whole), ...);
        whole.incomplete = keeper_.incomplete(whole.served);
        (detail::add_sentence(whole.incomplete, detail::calling::incomplete(extras)), ...);
        return whole;
    }

    template <class Data>
    round_report do_round(const Data& data, const detail::data::sampler& sampler,
                          std::int64_t rounds, double epoch) {
        const time_point loading = transport_.now();
        const auto looks = chance_.looks_of(epoch_, source_.own);
        detail::task<Model> job{model_, batches_.read(data, sampler, round_, looks),
                                std::ssize(sampler.batch(round_)), step_, epoch};
        if (detail::conducting::looks_ahead(state_) && round_ + 1 < rounds)
            job.next = batches_.read_ahead(data, sampler, round_, looks);
        const duration load = transport_.now() - loading;
        if constexpr (requires { model_.reseed(chance_.draws_of(step_)); })
            model_.reseed(chance_.draws_of(step_));
        round_report report = detail::located({step_ + 1, epoch_ + 1, last_loss_}, [&] {
            return buffers_.guard([&] { return state_.round(job, std::span<float>(parameters_)); });
        });
        report.load = load;
        if (report.examples > 0) last_loss_ = report.loss;
        ++step_;
        ++round_;
        return report;
    }

    template <class Extra>
    void evaluate_if_asked(Extra& extra, epoch_report& report, bool last) {
        if constexpr (evaluates<Extra>)
            if (last || report.epoch % extra.every == 0) report.evaluated = evaluate_as(extra);
    }

    /// The last epoch turned out to be the last only after its report, or there was none.
    template <class Extra>
    void evaluate_at_the_end(Extra& extra, fit_report& whole) {
        if constexpr (evaluates<Extra>)
            if (whole.epochs == 0 || epoch_ % extra.every != 0)
                whole.evaluated = evaluate_as(extra);
    }

    template <class Extra>
    evaluation evaluate_as(const Extra& asked) {
        evaluation found = evaluate(asked.data);
        if constexpr (in_step && !Strategy::synchronous)
            if (asked.own) found.own = all_.evaluate_each(asked.data);
        return found;
    }

    template <class Extra>
    void require_folder(const Extra& asked) {
        if constexpr (saves<Extra>) keeper_.require_folder(asked, place());
    }

    template <class Extra, class Seconds, class... Told>
    void save_if_due(const Extra& asked, const detail::run_place& now,
                     std::optional<std::int64_t> completed, bool last, fit_report& whole,
                     const Seconds& seconds, Told&... told) {
        if constexpr (saves<Extra>) {
            if (!keeper_.is_due(asked, now, completed, last)) return;
            checkpoint_report report = keeper_.save(asked, now);
            report.seconds = seconds();
            keeper_.note(asked, report, whole);
            (detail::calling::checkpoint(told, report), ...);
        }
    }

    template <std::convertible_to<detail::checkpoint::disk> Files>
    resume_report restore(const std::filesystem::path& folder, bool required,
                          const resume_options& options, const Files& files) {
        static_assert(saveable,
                      "resume: the strategy's ranks must train in step and its state must have "
                      "visit(field), which shows everything to be saved; so must a compressor with "
                      "commit or rollback, a controller or mixing method of gossip with members, "
                      "and an optimizer that is not linear: there is nothing to resume from");
        resume_report report;
        if constexpr (saveable) {
            detail::run_place found = place();
            report = keeper_.restore(folder, required, options.on_damage, files, found);
            if (!report.found) return report;
            step_ = found.step;
            epoch_ = found.epoch;
            round_ = found.round;
            source_ = {found.examples, found.of_this_rank, found.own != 0};
        }
        return report;
    }

    detail::run_place place(bool stopped = false) const noexcept {
        return detail::place_at(step_, epoch_, round_, fit_, source_, stopped);
    }

    /// An epoch that an earlier call left in the middle goes on only over the same data: ranks that
    /// learn in step all resume it, or none does.
    bool goes_on_with(const detail::data_source& now) {
        bool goes_on = true;
        if (round_ > 0) {
            goes_on = source_.is(now);
            if constexpr (in_step) goes_on = together_.agree(goes_on);
            if (!goes_on) ++epoch_, round_ = 0, learnt_ = {};
        }
        source_ = now;
        return goes_on;
    }

    Model& model_;
    transport_ref transport_;
    training_options options_;
    detail::large_vector<float> parameters_;
    state_type state_;
    detail::run_chance<state_type> chance_;
    transport_ref together_;  // the ranks that train this model
    detail::model_buffers<Model> buffers_;
    detail::learnt_by_all<Model, Strategy, state_type> all_;
    detail::batch_reader<typename Model::batch_type> batches_;
    detail::learnt_so_far learnt_;  // in the epoch after those completed
    std::optional<double> last_loss_;
    std::string description_;
    std::int64_t step_ = 0;       // rounds completed in all
    std::int64_t epoch_ = 0;      // epochs completed
    std::int64_t round_ = 0;      // rounds completed of the epoch after these
    detail::data_source source_;  // of those rounds
    detail::fit_progress fit_;    // the one under way
    detail::saved_run_of<Model, state_type, Strategy::synchronous> saved_;
    detail::run_keeper keeper_;
};

}  // namespace sotto
