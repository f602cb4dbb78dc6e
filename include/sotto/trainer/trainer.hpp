#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/collectives/detail/broadcast.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/data/dataset.hpp"
#include "sotto/data/sampler.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/strategies/round_report.hpp"
#include "sotto/strategies/server_report.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/trainer/callback.hpp"
#include "sotto/trainer/checkpoints.hpp"
#include "sotto/trainer/detail/agreement.hpp"
#include "sotto/trainer/detail/batch_reader.hpp"
#include "sotto/trainer/detail/checkpointing/rng_streams.hpp"
#include "sotto/trainer/detail/checkpointing/checkpoint_manager.hpp"
#include "sotto/trainer/detail/checkpointing/training_position.hpp"
#include "sotto/trainer/detail/checkpointing/saved_run.hpp"
#include "sotto/trainer/detail/evaluator.hpp"
#include "sotto/trainer/detail/fit_argument.hpp"
#include "sotto/trainer/detail/fit_loop.hpp"
#include "sotto/trainer/detail/fit_progress.hpp"
#include "sotto/trainer/detail/fit_request.hpp"
#include "sotto/trainer/detail/global_evaluator.hpp"
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

/// Trains a model on every rank of a transport with a strategy: reads batches, does rounds,
/// measures their costs and calls callbacks. Each rank constructs one trainer, and all ranks use
/// theirs alike. The trainer refers to the model and the transport, and owns the parameters.
///   errors  the constructor and fit throw mismatch, the same on all ranks, if ranks have different
///           options. The constructor throws invalid_option if no file could name the model's
///           tensors. fit throws peer_failure if another rank fails, and any exception of the model
///           or a callback. Parameters and all state are then as after the last completed round
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
                  "round(round_input, parameters)");
    static_assert(!detail::conducting::loses_ranks<Strategy> || tolerant_transport<Transport>,
                  "gossip: on this transport the loss of a rank ends the job: leave surviving{} "
                  "out");

public:
    /// Blocks until every rank has constructed its trainer and their options agree. Does not block
    /// if the strategy lets ranks join at any time.
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
          saved_(model, state_, parameters_, at_.learnt),
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
    /// data sets to `evaluate_on`, and `checkpoints` in a folder. Pass the same data on every rank:
    /// each reads the share that the strategy assigns. Pass `local_data` for data of this rank
    /// only.
    ///
    /// A rank without examples takes part in the rounds of ranks in step; otherwise it waits until
    /// the others are done. If no rank has examples, `fit` throws invalid_option. If ranks may join
    /// and leave, it instead ends without a step.
    ///
    /// A second call continues where the first one ended, also inside an epoch. `steps{3}` and then
    /// `steps{4}` equal `steps{7}` to the last bit, if ranks train in step and the end of a call
    /// changes nothing. local_updates ends every call with a meeting. There two calls equal one
    /// only if the first does a multiple of `every` steps.
    ///
    /// `epochs` counts the rest of an incomplete epoch as one. If the second call has other data
    /// (their number, or whether they are local), the incomplete epoch ends and a new one begins.
    /// With a synchronous strategy this happens on all ranks if it happens on one.
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
                      "stops training is the fit_control of on_epoch");
        static_assert((returns_fit_control<Extras> && ...),
                      "fit: on_epoch, or a function of an epoch_report, must return nothing or a "
                      "sotto::fit_control, fit_control::keep_going or fit_control::stop");
        static_assert(
            detail::measurable<Model> || !(evaluates<Extras> || ...),
            "evaluate: the model must be a predictor (forward, backward, predict, outputs, and "
            "batches with labels()) or have loss(parameters, batch), the mean loss of a batch");
        const std::array<detail::fit_argument, sizeof...(Extras)> arguments{erased(extras)...};
        if constexpr (detail::shared_or_own<Data>::own)
            return run(data.data,
                       state_.share().empty() ? detail::data::share{0, 0} : detail::data::share{},
                       true, length, arguments);
        else
            return run(data, state_.share(), false, length, arguments);
    }

    /// Rejects a plain number at compile time, because its unit is unknown.
    template <class Data, class Length, class... Extras>
        requires(!std::is_convertible_v<Length, detail::training_length>)
    fit_report fit(const Data&, const Length&, Extras&&...) {
        static_assert(std::is_convertible_v<Length, detail::training_length>,
                      "fit: the second argument says how long to train: sotto::epochs{10} or "
                      "sotto::steps{1000}");
        return {};
    }

    /// Callback of resume.
    struct resume_options {
        /// Called on rank 0 if a newer checkpoint than the one that was read is damaged or
        /// unreadable; may be null. The report contains the same on every rank.
        void (*on_damage)(const resume_report&) = complain_of_damage;
    };

    /// Continues from the newest complete and readable checkpoint in a folder. Restores parameters,
    /// the model's buffers, the state of optimizer and compressor, random streams and the position
    /// in the data. With as many ranks as before, training continues bit for bit as if it had not
    /// ended. With another number of ranks, the sums of per-rank state are preserved, see
    /// detail::checkpoint_reader. If each rank has its own parameters, another number of ranks
    /// throws. All ranks call it.
    ///
    /// Simply restart a program that ended too early: resume counts calls of `fit`. The calls that
    /// were complete at the checkpoint only evaluate, if requested. The interrupted call continues:
    /// its earlier steps count, and if a fit_control stopped it, it stays stopped. Callback state
    /// is not saved: each callback begins as in a new run.
    ///
    /// Rank 0 reads the file once to check it, while the other ranks wait, at most for the
    /// transport's timeout. The disk must read the whole file in less.
    ///   errors  the same on all ranks: io_failure, there is no checkpoint, the folder cannot be
    ///           listed, or no checkpoint can be read
    ///           malformed, no checkpoint is complete
    ///           mismatch, the newest was written with another configuration, naming the first
    ///           option that differs. In these cases the trainer is unchanged
    ///           A later failure, while the state is filled (the disk fails, the file changes, a
    ///           rank fails), leaves the state partly the checkpoint's. `fit` and `evaluate` then
    ///           throw io_failure until a resume succeeds
    template <std::convertible_to<detail::checkpoint::disk> Files = detail::checkpoint::disk>
    resume_report resume(const std::string& folder, resume_options options = {}, Files files = {}) {
        return restore(folder, true, options, files);
    }

    /// Same as resume, but if there is no checkpoint it does nothing and returns `found` = false.
    template <std::convertible_to<detail::checkpoint::disk> Files = detail::checkpoint::disk>
    resume_report try_resume(const std::string& folder, resume_options options = {},
                             Files files = {}) {
        return restore(folder, false, options, files);
    }

    /// Evaluates the model on these examples. Ranks that learn in step must all call it: they
    /// divide the examples and return the same result. They measure the mean of their parameters
    /// (if these differ) and of their models' buffers. With another strategy each rank measures its
    /// own parameters and buffers, as evaluate_local does.
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
        transport_.at({.round = at_.step, .phase = "evaluating"});
        return all_.evaluate(data);
    }

    /// Evaluates the mean of all ranks' parameters, with any strategy. All ranks call it and
    /// mean_parameters, between calls of `fit`.
    template <class Data>
    evaluation evaluate_mean(const Data& data) {
        require_all_ranks();
        return all_.evaluate_mean(data);
    }
    /// Returns this mean, valid until the next call.
    std::span<const float> mean_parameters() {
        require_all_ranks();
        return all_.mean();
    }

    /// Evaluates this rank's own parameters with its own model's buffers. Other ranks are not
    /// involved.
    template <class Data>
    evaluation evaluate_local(const Data& data) {
        static_assert(
            detail::measurable<Model> && dataset<Data> && reads<Data>,
            "evaluate_local: the model and the data must be such that evaluate takes them");
        keeper_.require_whole_state();
        return all_.evaluate_local(data);
    }

    /// Calls use(model, parameters, ranks) with the parameters and buffers that evaluate measures.
    /// If ranks learn in step, all must call it, and `ranks` connects them. With another strategy
    /// one rank may call it alone.
    auto with_evaluated(auto&& use) {
        keeper_.require_whole_state();
        transport_.at({.round = at_.step, .phase = "publishing"});
        return all_.as_one([&](std::span<const float> all) { return use(model_, all, together_); });
    }

    std::span<const float> parameters() const noexcept { return parameters_; }  // of this rank
    const layout& tensors() const noexcept { return model_.layout(); }          // of the model
    const std::string& description() const noexcept { return description_; }    // one option a line
    std::int64_t step() const noexcept { return at_.step; }  // steps completed, over all calls
    auto& state() noexcept { return state_; }

private:
    using state_type = sotto::strategy_state<Strategy>;
    static constexpr bool in_step = detail::conducting::in_step<Strategy>;

    void require_all_ranks() {
        static_assert(!detail::conducting::loses_ranks<Strategy>,
                      "the mean of all ranks: by gossip with surviving{} some may be gone");
        keeper_.require_whole_state();
        transport_.at({.round = at_.step, .phase = "taking the mean of all"});
    }

    template <class Extra>
    static constexpr bool evaluates = detail::is_evaluation<std::remove_cvref_t<Extra>>;
    template <class Extra>
    static constexpr bool saves = detail::is_checkpoints<std::remove_cvref_t<Extra>>;
    template <class Extra>
    static constexpr bool tells_or_evaluates = evaluates<Extra> || saves<Extra> || callback<Extra>;

    /// True if checkpoints can save the complete run.
    static constexpr bool saveable = [] {
        if constexpr (strategy<Strategy>)
            return in_step && detail::shows_its_state<state_type>;
        else
            return true;  // another static_assert reports the error
    }();

    template <class Data>
    using examples_of = typename detail::shared_or_own<Data>::type;

    template <class Data>
    static constexpr bool reads = [] {
        if constexpr (dataset<Data> && gradient_source<Model>)
            return std::is_same_v<typename Data::batch_type, typename Model::batch_type>;
        else
            return true;  // another static_assert reports the error
    }();

    /// The actions of `fit` for data of this type.
    template <class Data>
    class driver_of final : public detail::fit_driver {
    public:
        driver_of(trainer& by, const Data& data, const detail::data::sampler& sampler, bool own)
            : by_(by), data_(data), sampler_(sampler), own_(own) {}

        void prepare() override {
            by_.batches_.begin();
            detail::conducting::deal(by_.state_, own_, by_.options_.seed, data_.size());
        }
        detail::fit_start begin() override {
            return detail::conducting::begin(by_.state_, by_.parameters_, by_.buffers_.own());
        }
        run_info info() override {
            return detail::info_of(by_.state_, by_.transport_, by_.together_);
        }
        detail::epoch_agreement begin_epoch(const detail::epoch_plan& plan) override {
            return by_.state_.begin_epoch(plan);
        }
        round_report round(std::int64_t rounds, double epoch) override {
            return by_.do_round(data_, sampler_, rounds, epoch);
        }
        round_report finish() override {
            return detail::conducting::finish(by_.state_, std::span<float>(by_.parameters_),
                                              by_.transport_);
        }
        detail::learnt_so_far in_epoch(const detail::learnt_so_far& mine,
                                       std::int64_t step) override {
            return by_.all_.in_epoch(mine, step);
        }
        std::optional<server_report> report_of_server() override {
            return detail::conducting::report_of_server(by_.state_);
        }
        std::vector<detail::rank_loss> losses() override {
            return detail::conducting::losses(by_.state_);
        }

    private:
        trainer& by_;
        const Data& data_;
        const detail::data::sampler& sampler_;
        bool own_;
    };

    template <class Extra>
    static detail::fit_argument erased(Extra& extra) {
        evaluation (*evaluate)(void*, void*) = nullptr;
        if constexpr (evaluates<Extra>)
            evaluate = [](void* by, void* to) {
                return static_cast<trainer*>(by)->evaluate_as(detail::argument_at<Extra>(to));
            };
        return detail::fit_argument_of(extra, evaluate);
    }

    template <class Data>
    fit_report run(const Data& data, const detail::data::share& share, bool own,
                   detail::training_length length,
                   std::span<const detail::fit_argument> arguments) {
        keeper_.require_whole_state();
        const std::string request = detail::fit_request(data.size(), own, length, arguments);
        if constexpr (in_step) detail::require_agreement(transport_, request);
        detail::data::sampler sampler(
            data.size(), share, options_.batch_size, chance_.of_order("order"), options_.shuffle,
            own ? detail::data::shard{} : detail::conducting::shard(state_),
            chance_.of_all("shards"));
        const detail::checkpoint_manager::training training(keeper_);
        const detail::conducting::fit_scope<state_type> scope(state_);
        driver_of<Data> driver(*this, data, sampler, own);
        return detail::run_fit(driver, at_, keeper_, sampler,
                               {.trainer = this,
                                .all_ranks = transport_,
                                .together = together_,
                                .length = length,
                                .source = {data.size(), sampler.examples(), own},
                                .batch_size = options_.batch_size,
                                .in_step = in_step,
                                .parameters = tensors(),
                                .description = description_},
                               arguments);
    }

    template <class Data>
    round_report do_round(const Data& data, const detail::data::sampler& sampler,
                          std::int64_t rounds, double epoch) {
        const time_point loading = transport_.now();
        const auto looks = chance_.looks_of(at_.epoch, at_.source.own);
        detail::round_input<Model> job{model_, batches_.read(data, sampler, at_.round, looks),
                                       std::ssize(sampler.batch(at_.round)), at_.step, epoch};
        if (detail::conducting::looks_ahead(state_) && at_.round + 1 < rounds)
            job.next = batches_.read_ahead(data, sampler, at_.round, looks);
        const duration load = transport_.now() - loading;
        if constexpr (requires { model_.reseed(chance_.draws_of(at_.step)); })
            model_.reseed(chance_.draws_of(at_.step));
        round_report report = detail::located({at_.step + 1, at_.epoch + 1, last_loss_}, [&] {
            return buffers_.guard([&] { return state_.round(job, std::span<float>(parameters_)); });
        });
        report.load = load;
        if (report.examples > 0) last_loss_ = report.loss;
        return report;
    }

    template <class Extra>
    evaluation evaluate_as(const Extra& asked) {
        evaluation found = evaluate(asked.data);
        if constexpr (in_step && !Strategy::synchronous)
            if (asked.own) found.own = all_.evaluate_each(asked.data);
        return found;
    }

    template <std::convertible_to<detail::checkpoint::disk> Files>
    resume_report restore(const std::string& folder, bool required, const resume_options& options,
                          const Files& files) {
        static_assert(saveable,
                      "resume: the strategy's ranks must train in step and its state must have "
                      "visit(field), which shows everything to be saved; so must a compressor with "
                      "commit or rollback, a controller or mixing method of gossip with members, "
                      "and an optimizer that is not linear: there is nothing to resume from");
        resume_report report;
        if constexpr (saveable) {
            detail::training_position found = at_.place();
            report = keeper_.restore(folder, required, options.on_damage, files, found);
            if (!report.found) return report;
            at_.step = found.step;
            at_.epoch = found.epoch;
            at_.round = found.round;
            at_.source = {found.examples, found.of_this_rank, found.own != 0};
        }
        return report;
    }

    Model& model_;
    transport_ref transport_;
    training_options options_;
    detail::large_vector<float> parameters_;
    state_type state_;
    detail::rng_streams<state_type> chance_;
    transport_ref together_;  // ranks that train this model
    detail::model_buffers<Model> buffers_;
    detail::global_evaluator<Model, Strategy, state_type> all_;
    detail::batch_reader<typename Model::batch_type> batches_;
    std::optional<double> last_loss_;
    std::string description_;
    detail::run_position at_;
    detail::saved_run_of<Model, state_type, Strategy::synchronous> saved_;
    detail::checkpoint_manager keeper_;
};

}  // namespace sotto
