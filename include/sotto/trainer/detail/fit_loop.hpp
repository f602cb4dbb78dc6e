#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/data/sampler.hpp"
#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/strategies/round_report.hpp"
#include "sotto/strategies/server_report.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/trainer/detail/checkpointing/checkpoint_manager.hpp"
#include "sotto/trainer/detail/fit_argument.hpp"
#include "sotto/trainer/detail/fit_progress.hpp"
#include "sotto/trainer/options.hpp"
#include "sotto/trainer/reports.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// What a call of `fit` does with a trainer's model, strategy and data, without their types.
class fit_driver {
public:
    /// Before the first round.
    virtual void prepare() = 0;
    virtual fit_start begin() = 0;
    /// For on_begin: what the strategy and its transport say; fit_loop fills in the rest.
    virtual run_info info() = 0;
    virtual epoch_agreement begin_epoch(const epoch_plan& plan) = 0;
    /// The next round of an epoch that has so many, at this place in the run, in epochs.
    virtual round_report round(std::int64_t rounds, double epoch) = 0;
    /// After the last round: what it cost.
    virtual round_report finish() = 0;
    /// What the ranks that train one model have learnt in this epoch.
    virtual learnt_so_far in_epoch(const learnt_so_far& mine, std::int64_t step) = 0;
    virtual std::optional<server_report> report_of_server() = 0;
    /// The ranks that were lost so far.
    virtual std::vector<rank_loss> losses() = 0;

protected:
    ~fit_driver() = default;
};

/// What a call of `fit` was given, and by which trainer.
struct fit_terms {
    void* trainer;            // for fit_argument::evaluate
    transport_ref all_ranks;  // of the trainer's transport
    transport_ref together;   // those that train one model
    training_length length;
    data_source source;
    std::int64_t batch_size;
    bool in_step;
    const layout& parameters;
    const std::string& description;
};

/// Trains until the call of `fit` is over, and calls its callbacks.
fit_report run_fit(fit_driver& driver, run_position& at, checkpoint_manager& keeper,
                   data::sampler& sampler, const fit_terms& terms,
                   std::span<const fit_argument> arguments);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/detail/fit_loop.ipp"
#endif
