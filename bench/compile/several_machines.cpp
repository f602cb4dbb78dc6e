// A rank of several machines: connections under TLS, a log and a report.

#include <sotto/launch/environment.hpp>
#include <sotto/logging/json_lines.hpp>
#include <sotto/models.hpp>
#include <sotto/report/html_report.hpp>
#include <sotto/sotto.hpp>
#include <sotto/transports/tcp.hpp>
#include <sotto/transports/tcp_tls.hpp>

int main() try {
    auto options = sotto::tcp_options::at(sotto::launch::from_environment());
    options.security = sotto::pre_shared_key::from_environment();
    sotto::tcp transport = sotto::tcp::join(options);
    try {
        const auto digits = sotto::data::digits(4'000, sotto::random_stream{1});
        sotto::models::mlp model{784, 128, 10};
        sotto::trainer trainer{
            model,
            sotto::all_reduce{sotto::sgd{.learning_rate = 0.1},
                              sotto::dgc{.density = 0.01, .momentum = 0.9, .warm_up_epochs = 1}},
            transport};
        trainer.fit(digits, sotto::epochs{5}, sotto::progress_bar{}, sotto::json_lines{"run.jsonl"},
                    sotto::html_report{"run.html"});
    } catch (...) {
        sotto::fail_with_exception(transport);
        throw;
    }
} catch (...) {
    return sotto::report_exception();
}
