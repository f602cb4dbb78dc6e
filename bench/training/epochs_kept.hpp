#pragma once

// What a study keeps of a training that is evaluated after each epoch.

#include <sotto/trainer/reports.hpp>

#include <cstdint>
#include <nlohmann/json.hpp>

namespace study {

class epochs_kept {
public:
    void add(const sotto::epoch_report& epoch) {
        losses_.push_back(epoch.evaluated->loss);
        errors_.push_back(100.0 * (1.0 - epoch.evaluated->accuracy));
        last_ = epoch.total;
    }

    /// One result, of a model of so many parameters. Errors are in %, bytes those of one worker.
    nlohmann::json result(std::int64_t parameters, const sotto::fit_report& whole) const {
        return {{"parameters", parameters},
                {"steps", whole.steps},
                {"test_loss", losses_.back()},
                {"test_error", errors_.back()},
                {"test_losses", losses_},
                {"test_errors", errors_},
                {"train_loss", whole.loss},
                {"seconds", whole.seconds},
                {"dense_bytes", whole.total.dense_bytes},
                {"message_bytes", whole.total.message_bytes},
                {"bytes_sent", whole.total.bytes_sent},
                {"dense_bytes_last_epoch", last_.dense_bytes},
                {"message_bytes_last_epoch", last_.message_bytes},
                {"bytes_sent_last_epoch", last_.bytes_sent}};
    }

private:
    nlohmann::json losses_ = nlohmann::json::array(), errors_ = losses_;
    sotto::round_report last_;
};

}  // namespace study
