// A whole exchange by Deep Gradient Compression as the strategy all_reduce does it: from gradients
// that lie ready at all ranks until every rank has applied the sum of what was sent. Select,
// encode, send, receive, decode, apply, and the vote. One line of JSON a rank:
//   SOTTO_RANK=.. SOTTO_SIZE=.. SOTTO_ADDRESS=.. bench_network_dgc_exchange [options]
// --tls takes the secret of the job from SOTTO_SECRET or SOTTO_SECRET_FILE.
// The first round is compared with a plain computation of what it must be, and in every round all
// ranks must hold the same parameters.

#include "sotto/collectives/all_gather.hpp"
#include "sotto/collectives/detail/sparse_all_reduce.hpp"
#include "sotto/compressors/dgc.hpp"

#include <CLI/CLI.hpp>
#define XXH_INLINE_ALL  // it is used by its header alone
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "join.hpp"
#include "ready_gradients.hpp"
#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/detail/all_gather_values.hpp"
#include "sotto/collectives/sparse_all_reduce.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/detail/round_input.hpp"
#include "sotto/transports/tcp.hpp"
#include "sotto/transports/tcp_tls.hpp"
#include "sotto/wire/value_format.hpp"
#include "timed_rounds.hpp"

namespace {

struct settings {
    std::int64_t weights = 25'000'000;
    int tensors = 1, rounds = 9, warm_up = 3;
    double density = 0.001;
    bool fp16 = false, tls = false;
    std::string collective = "all_gather";

    bool reselects() const { return collective != "all_gather"; }
};

/// What the parameters must be after the first round at learning rate 1: every rank's k largest
/// entries of every tensor, taken away. Exact where the number of ranks is a power of 2 and values
/// travel as they are.
std::vector<float> after_first_round(const settings& s, const sotto::layout& tensors, int world) {
    std::vector<float> sum(static_cast<std::size_t>(s.weights));
    for (int rank = 0; rank < world; ++rank) {
        const std::vector<float> gradient = bench::gradient_of(rank, s.weights);
        for (const sotto::tensor& t : tensors) {
            const auto values = t.of(std::span<const float>(gradient));
            std::vector<float> sizes(values.begin(), values.end());
            for (float& x : sizes) x = std::abs(x);
            const auto k = static_cast<std::ptrdiff_t>(
                std::ceil(s.density * static_cast<double>(values.size())));
            std::nth_element(sizes.begin(), sizes.begin() + k - 1, sizes.end(), std::greater<>());
            const float least = sizes[static_cast<std::size_t>(k - 1)];
            const auto to = t.of(std::span(sum));
            for (std::size_t i = 0; i < values.size(); ++i)
                if (std::abs(values[i]) >= least) to[i] -= values[i] / static_cast<float>(world);
        }
    }
    return sum;
}

/// Values may be equal at the border of a selection, which then takes one of them.
void require_alike(const std::vector<float>& found, const std::vector<float>& expected,
                   double relative_error) {
    std::size_t others = 0;
    for (std::size_t i = 0; i < found.size(); ++i)
        others += std::abs(found[i] - expected[i]) >
                  relative_error * static_cast<double>(std::abs(expected[i]));
    if (others > 16)
        throw std::runtime_error("the first round changed " + std::to_string(others) +
                                 " parameters otherwise than it must");
}

void require_same_on_all_ranks(sotto::tcp& through, const std::vector<float>& parameters,
                               std::uint64_t round) {
    const std::uint64_t own = XXH3_64bits(parameters.data(), parameters.size() * sizeof(float));
    std::vector<std::uint64_t> all(static_cast<std::size_t>(through.size()));
    sotto::detail::collectives::all_gather_values(through, own, std::span(all), {16, 0, round});
    for (const std::uint64_t digest : all)
        if (digest != own) throw std::runtime_error("the ranks hold different parameters");
}

template <class Collective>
nlohmann::json measure(const settings& s, sotto::tcp& through, Collective how) {
    bench::ready_gradients model(s.weights, s.tensors, through);
    const sotto::all_reduce strategy{sotto::sgd{.learning_rate = 1.0},
                                     sotto::dgc{.density = s.density,
                                                .momentum = 0.9,
                                                .warm_up_epochs = 0.0,
                                                .values = s.fp16 ? sotto::wire::value_format::fp16
                                                                 : sotto::wire::value_format::fp32},
                                     how};
    auto state = strategy.bind(model.layout(), through);
    std::vector<float> parameters(static_cast<std::size_t>(s.weights));
    const bench::ready_gradients::batch_type nothing;
    const std::int64_t rounds = s.warm_up + s.rounds;
    (void)state.begin_epoch({.examples = rounds, .batch_size = 1});
    std::vector<double> seconds, bytes, compress, wait, apply;
    for (std::int64_t round = 0; round < rounds; ++round) {
        sotto::detail::round_input<bench::ready_gradients> job{
            .model = model, .batch = nothing, .examples = 1, .step = round};
        const sotto::round_report report = state.round(job, parameters);
        const double took = model.seconds_since_all_had_theirs();
        require_same_on_all_ranks(through, parameters, static_cast<std::uint64_t>(round));
        // What is selected from sums once more changes fewer parameters.
        if (round == 0 && !s.reselects())
            require_alike(parameters, after_first_round(s, model.layout(), through.size()),
                          s.fp16 ? 1e-3 : 1e-6);
        if (round < s.warm_up) continue;
        seconds.push_back(took);
        bytes.push_back(static_cast<double>(report.bytes_sent));
        compress.push_back(sotto::in_seconds(report.compress));
        wait.push_back(sotto::in_seconds(report.wait));
        apply.push_back(sotto::in_seconds(report.apply));
    }
    const std::string name = std::string("sotto DGC") + (s.reselects() ? " " + s.collective : "") +
                             (s.fp16 ? " fp16" : "") + (s.tls ? " TLS" : "");
    return {{"contestant", name},
            {"operation", "exchange"},
            {"weights", s.weights},
            {"tensors", s.tensors},
            {"density", s.density},
            {"ranks", through.size()},
            {"rank", through.rank()},
            {"bytes", 4 * s.weights},
            {"bytes_sent", bench::median(bytes)},
            {"compress", bench::median(compress)},
            {"wait", bench::median(wait)},
            {"apply", bench::median(apply)},
            {"compressing", compress},
            {"applying", apply},
            {"median", bench::median(seconds)},
            {"seconds", seconds}};
}

}  // namespace

int main(int count, char** arguments) try {
    settings s;
    CLI::App app{"A whole exchange by Deep Gradient Compression over TCP"};
    app.add_option("--weights", s.weights)->check(CLI::Range(1000, 1 << 30));
    app.add_option("--tensors", s.tensors, "Of equal size")->check(CLI::Range(1, 100));
    app.add_option("--density", s.density);
    app.add_flag("--fp16", s.fp16, "Values travel as halves");
    app.add_flag("--tls", s.tls, "Over TLS 1.3 with the job's secret");
    app.add_option("--collective", s.collective)
        ->check(CLI::IsMember({"all_gather", "sparse_reduce_scatter"}));
    app.add_option("--rounds", s.rounds)->check(CLI::PositiveNumber);
    app.add_option("--warm-up", s.warm_up, "Rounds that do not count")
        ->check(CLI::NonNegativeNumber);
    CLI11_PARSE(app, count, arguments);
    auto options = bench::tcp_options();
    if (s.tls) options.security = sotto::pre_shared_key::from_environment();
    sotto::tcp through = sotto::tcp::join(options);
    namespace collectives = sotto::collectives;
    const nlohmann::json found = s.reselects()
                                     ? measure(s, through, collectives::sparse_reduce_scatter{})
                                     : measure(s, through, sotto::collectives::all_gather{});
    std::puts(found.dump().c_str());
    through.agree(true);  // nobody leaves while another still measures
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
