// Trains with a user-written compressor: a small class that satisfies the compressor concept.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

#include "transport.hpp"

// Sends every other entry of a gradient: even entries in one round, odd entries in the next. A
// compressor needs no base class, registration or specialisation.
struct every_other {
    class state {
    public:
        void begin_round(const sotto::round_info& round) {
            first_ = static_cast<std::size_t>(round.step % 2);
        }

        void encode(const sotto::tensor&, std::span<const float> gradient, sotto::bytes& out) {
            for (std::size_t i = first_; i < gradient.size(); i += 2) {
                const auto value = std::as_bytes(gradient.subspan(i, 1));
                out.insert(out.end(), value.begin(), value.end());
            }
        }

        void decode_add(const sotto::tensor& tensor, sotto::byte_view message,
                        std::span<float> sum) {
            const std::size_t expected = (sum.size() + 1 - first_) / 2 * sizeof(float);
            if (message.size() != expected)
                throw sotto::malformed(tensor.name,
                                       {.offset = 0,
                                        .expected = "half of the tensor's floats",
                                        .found = static_cast<std::int64_t>(message.size())});
            for (std::size_t i = first_; i < sum.size();
                 i += 2, message = message.subspan(sizeof(float))) {
                float value;
                std::memcpy(&value, message.data(), sizeof value);
                sum[i] += value;
            }
        }

    private:
        std::size_t first_ = 0;
    };
    state bind(const sotto::layout&) const { return {}; }
};

// A user-written selector for `sparsified`: it selects the entries to send, and a memory stores the
// others. This one selects a window of k entries that moves through the tensor.
struct in_turn {
    double density = 0.1;

    class selector_state {
    public:
        void begin_round(const sotto::round_info& round) { step_ = round.step; }
        std::int64_t entries_max(const sotto::tensor&, std::int64_t k) const { return k; }

        std::span<const std::uint32_t> select(const sotto::tensor&, std::span<const float> values,
                                              std::int64_t k) {
            const auto n = static_cast<std::int64_t>(values.size());
            chosen_.clear();
            for (std::int64_t i = 0; i < k; ++i)
                chosen_.push_back(static_cast<std::uint32_t>((step_ * k + i) % n));
            std::sort(chosen_.begin(), chosen_.end());
            return chosen_;
        }

    private:
        std::int64_t step_ = 0;
        std::vector<std::uint32_t> chosen_;
    };
    selector_state bind_selector(const sotto::layout&) const { return {}; }
};

namespace {

/// Trains one worker and returns the accuracy, which is the same on all ranks. Rank 0 prints how
/// much smaller the messages are.
double train(auto& transport, const char* name, auto compressor, const auto& digits,
             const auto& unseen, std::int64_t passes) {
    sotto::models::mlp model{784, 64, 10};
    sotto::trainer trainer{model, sotto::all_reduce{sotto::sgd{.learning_rate = 0.1}, compressor},
                           transport};
    const sotto::fit_report report =
        trainer.fit(digits, sotto::epochs{passes}, sotto::evaluate_on{unseen});
    const double accuracy = report.evaluated->accuracy;
    if (transport.rank() == 0)
        std::printf("%-32s accuracy %5.2f %%, gradients sent %6.1f times smaller\n", name,
                    100.0 * accuracy,
                    static_cast<double>(report.total.dense_bytes) /
                        static_cast<double>(report.total.message_bytes));
    return accuracy;
}

int compare(const examples::transport_options& chosen, bool quick) {
    const auto digits = sotto::data::digits(quick ? 2'000 : 10'000, sotto::random_stream{1});
    const auto unseen = sotto::data::digits(2'000, sotto::random_stream{2});
    const std::int64_t passes = quick ? 3 : 10;
    bool learnt = true;
    examples::with_transport(chosen, [&](auto& transport) {
        const auto accuracy = [&](const char* name, auto compressor) {
            return train(transport, name, compressor, digits, unseen, passes);
        };
        const double whole = accuracy("whole gradients", sotto::none{});
        const double half = accuracy("every other entry", every_other{});
        const double tenth =
            accuracy("one in ten, in turn", sotto::sparsified{in_turn{}, sotto::residual{}});
        if (transport.rank() == 0) learnt = whole > 0.3 && half > 0.3 && tenth > 0.2;
    });
    return learnt ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    examples::transport_options transport;
    bool quick = false;
    CLI::App app{"Trains by a compressor of one's own", "your_own_compressor"};
    examples::add_transport(app, transport);
    app.add_flag("--quick", quick, "The same in seconds");
    return examples::run(app, argc, argv, [&] { return compare(transport, quick); });
}
