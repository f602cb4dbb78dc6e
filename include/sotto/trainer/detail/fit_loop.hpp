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

/// The actions of `fit` on a trainer's model, strategy and data, with their types erased.
class fit_driver {
public:
    /// Called before the first round.
    virtual void prepare() = 0;
    virtual fit_start begin() = 0;
    /// Returns the fields of on_begin from the strategy and its transport; fit_loop fills in the
    /// rest.
    virtual run_info info() = 0;
    virtual epoch_agreement begin_epoch(const epoch_plan& plan) = 0;
    /// Does the next round of an epoch of `rounds` rounds. `epoch` is the position in the run, in
    /// epochs.
    virtual round_report round(std::int64_t rounds, double epoch) = 0;
    /// Called after the last round; returns its costs.
    virtual round_report finish() = 0;
    /// Returns the loss of this epoch over the ranks that train one model.
    virtual learnt_so_far in_epoch(const learnt_so_far& mine, std::int64_t step) = 0;
    virtual std::optional<server_report> report_of_server() = 0;
    /// Returns the ranks lost so far.
    virtual std::vector<rank_loss> losses() = 0;

protected:
    ~fit_driver() = default;
};

/// Arguments of a call of `fit`, and the trainer that received them.
struct fit_terms {
    void* trainer;            // argument of fit_argument::evaluate
    transport_ref all_ranks;  // all ranks of the trainer's transport
    transport_ref together;   // ranks that train one model
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
