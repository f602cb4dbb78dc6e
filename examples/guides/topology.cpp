// A user-written topology: sites with a fast network inside and a slow one between them.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

// In `rounds_inside` rounds each site mixes its own ranks. In the next round the first ranks of all
// sites mix.
struct sites {
    int ranks_per_site = 4;
    int rounds_inside = 3;

    auto bind(int size) const {
        if (size % ranks_per_site != 0)
            throw sotto::invalid_option("sites: " + std::to_string(size) + " ranks in sites of " +
                                        std::to_string(ranks_per_site) + "; expected a multiple");
        sotto::topologies::mixing_matrix inside(size), between(size);
        for (int a = 0; a < size; ++a)
            for (int b = a + 1; b < size; ++b) {
                if (a / ranks_per_site == b / ranks_per_site)
                    inside.link_both(a, b, 1.0 / ranks_per_site);
                if (a % ranks_per_site == 0 && b % ranks_per_site == 0)
                    between.link_both(a, b, double(ranks_per_site) / size);
            }
        std::vector rounds(std::size_t(rounds_inside), inside);
        rounds.push_back(between);
        return sotto::topologies::repeated(std::move(rounds));
    }
};

int main() try {
    const auto digits = sotto::data::digits(4'000, sotto::random_stream{1});
    const auto unseen = sotto::data::digits(1'000, sotto::random_stream{2});
    auto graph = sites{}.bind(8);
    std::printf("a round leaves at most %.3f of the differences between ranks\n",
                sotto::topologies::summary_of(graph).second_singular_value);
    bool good = true;
    sotto::run_in_process(8, [&](sotto::in_process& transport) {
        sotto::models::mlp model{784, 64, 10};
        const sotto::gossip strategy{sotto::momentum_sgd{.learning_rate = 0.05}, sites{}};
        sotto::trainer trainer{model, strategy, transport};
        const auto report = trainer.fit(digits, sotto::epochs{5});
        const sotto::evaluation mean = trainer.evaluate(unseen),
                                own = trainer.evaluate_local(unseen);
        if (transport.rank() != 0) return;
        std::printf("accuracy of the mean %.1f %%, of rank 0 %.1f %%; it sent %.1f MiB\n",
                    100.0 * mean.accuracy, 100.0 * own.accuracy,
                    double(report.total.bytes_sent) / 1048576.0);
        good = mean.accuracy > 0.6 && own.accuracy > 0.6;
    });
    return good ? 0 : 1;
} catch (...) {
    return sotto::report_exception();  // prints the error, returns an exit_code
}
