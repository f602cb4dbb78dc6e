// A user-written compressor: one byte for each entry of a gradient, one scale for each tensor.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>

struct bytes_and_scale {
    struct state {
        void encode(const sotto::tensor&, std::span<const float> gradient, sotto::bytes& out) {
            float largest = 0.0f;
            for (const float g : gradient) largest = std::max(largest, std::abs(g));
            const float scale = largest / 127.0f;
            const auto head = std::as_bytes(std::span(&scale, 1));
            out.insert(out.end(), head.begin(), head.end());  // appends; never clears `out`
            for (const float g : gradient) {
                const long code = scale > 0.0f ? std::lround(g / scale) : 0;
                out.push_back(static_cast<std::byte>(static_cast<std::int8_t>(code)));
            }
        }

        void decode_add(const sotto::tensor& t, sotto::byte_view message, std::span<float> sum) {
            float scale = 0.0f;
            if (message.size() != sizeof scale + sum.size())  // checked before it adds
                throw sotto::malformed(t.name, {.offset = 0,
                                                .expected = "a scale and a byte an entry",
                                                .found = std::int64_t(message.size())});
            std::memcpy(&scale, message.data(), sizeof scale);
            for (std::size_t i = 0; i < sum.size(); ++i)
                sum[i] += scale * static_cast<std::int8_t>(message[sizeof scale + i]);
        }
    };
    state bind(const sotto::layout&) const { return {}; }
};

int main() try {
    const auto digits = sotto::data::digits(2'000, sotto::random_stream{1});
    const auto unseen = sotto::data::digits(1'000, sotto::random_stream{2});
    bool good = true;
    sotto::run_in_process(4, [&](sotto::in_process& transport) {
        sotto::models::mlp model{784, 64, 10};
        sotto::trainer trainer{model, sotto::all_reduce{sotto::momentum_sgd{}, bytes_and_scale{}},
                               transport};
        const auto report = trainer.fit(digits, sotto::epochs{3}, sotto::evaluate_on{unseen});
        const double smaller =
            double(report.total.dense_bytes) / double(report.total.message_bytes);
        if (transport.rank() != 0) return;
        std::printf("accuracy %.1f %%, gradients sent %.2f times smaller\n",
                    100.0 * report.evaluated->accuracy, smaller);
        good = report.evaluated->accuracy > 0.5 && smaller > 3.9;
    });
    return good ? 0 : 1;
} catch (...) {
    return sotto::report_exception();  // prints the error, returns an exit_code
}
