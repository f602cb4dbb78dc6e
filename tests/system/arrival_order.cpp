#include "sotto/strategies/detail/parameter_server/arrival_order.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/parameter_server/consistency/asynchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/dynamic_stale_synchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/stale_synchronous.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/staleness/delay_compensation_adaptive.hpp"
#include "sotto/staleness/gap_aware.hpp"
#include "sotto/strategies/detail/parameter_server/arrival_order.hpp"
#include "sotto/strategies/parameter_server/arrival_paths.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/transports/diagnostics.hpp"
#include "support/folders.hpp"
#include "support/listener.hpp"
#include "support/over_simulated.hpp"
#include "support/over_tcp.hpp"
#include "support/training.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

/// One rank far slower than the others: an order that threads of one speed do not come to.
struct over_uneven {
    template <class F>
    static void run(int size, F f) {
        simulated_options options;
        options.slowness = speeds::one_slow{.rank = size - 1, .factor = 3.7};
        options.machine.flops = 1e6;
        run_simulated(size, options, f);
    }
};

exercise pulled() {
    exercise work;
    work.model.pull = 0.25f;
    return work;
}

serving to_file(const std::filesystem::path& record, const std::filesystem::path& replay = {},
                bool dedicated = false, int servers = 1) {
    return {.servers = servers,
            .dedicated = dedicated,
            .record_arrivals = record,
            .replay_arrivals = replay};
}

std::string text_in(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}
void put(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

std::size_t count(const std::string& text, std::string_view what) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; ++at) ++found;
    return found;
}

/// Asynchronous, with a compensator that minds each version that was read.
auto served_by(const serving& servers, double rate = 0.01) {
    return parameter_server{momentum_sgd{.learning_rate = rate}, asynchronous{},
                            delay_compensation_adaptive{.lambda = 0.01}, none{}, servers};
}

/// What went wrong with a run that follows an order; empty: nothing did.
template <class Over = over_in_process, class Strategy>
std::string refusal(int world, const Strategy& options, const exercise& work = pulled()) {
    try {
        train<Over>(world, options, work);
    } catch (const std::exception& e) {
        return e.what();
    }
    return {};
}

}  // namespace

TEST_CASE("a run on threads is repeated bit for bit by following the order of its arrivals") {
    const scratch_folder folder("arrivals_threads");
    const auto first = folder.path() / "first", again = folder.path() / "again";
    for (const bool dedicated : {false, true}) {
        const auto recorded = train(4, served_by(to_file(first, {}, dedicated)), pulled());
        const auto replayed = train(4, served_by(to_file(again, first, dedicated)), pulled());
        CHECK(agree(recorded));
        CHECK(agree(replayed));
        CHECK(replayed.front().same_parameters(recorded.front()));
        // Who has followed an order has had it, to the last character.
        CHECK(text_in(again) == text_in(first));
        const int workers = dedicated ? 3 : 4;
        CHECK(count(text_in(first), " begins ") == static_cast<std::size_t>(workers));
        CHECK(count(text_in(first), " done ") == static_cast<std::size_t>(workers));
        CHECK(count(text_in(first), " gradient ") == 2 * 24);
    }
}

TEST_CASE("an order from an uneven network is followed by threads and over TCP") {
    const scratch_folder folder("arrivals_everywhere");
    const auto order = folder.path() / "order";
    const auto recorded = train<over_uneven>(4, served_by(to_file(order)), pulled());
    const auto by_threads = train(4, served_by(to_file({}, order)), pulled());
    CHECK(by_threads.front().same_parameters(recorded.front()));
    const auto over = train<over_tcp>(4, served_by(to_file({}, order)), pulled());
    CHECK(over.front().same_parameters(recorded.front()));
    // Another order leads elsewhere.
    const auto even = train<over_simulated>(4, served_by({}), pulled());
    CHECK_FALSE(even.front().same_parameters(recorded.front()));
}

TEST_CASE("orders are followed whatever the consistency decides by, and from which servers") {
    const scratch_folder folder("arrivals_consistency");
    const auto order = folder.path() / "order";
    const auto holds = [&](auto consistency, auto compensator, auto compressor, int servers) {
        const auto with = [&](const serving& s) {
            return parameter_server{sgd{.learning_rate = 0.01}, consistency, compensator,
                                    compressor, s};
        };
        const auto recorded =
            train<over_uneven>(5, with(to_file(order, {}, false, servers)), pulled());
        const auto replayed = train(5, with(to_file({}, order, false, servers)), pulled());
        return replayed.front().same_parameters(recorded.front());
    };
    CHECK(holds(bulk_synchronous{.backups = 2}, no_compensation{}, none{}, 1));
    CHECK(holds(stale_synchronous{.bound = 1}, gap_aware{}, none{}, 1));
    CHECK(
        holds(dynamic_stale_synchronous{.lowest = 1, .highest = 4}, no_compensation{}, none{}, 1));
    CHECK(holds(asynchronous{}, delay_compensation_adaptive{},
                sparsified{top_k{.density = 0.05}, residual{}}, 1));
    CHECK(holds(asynchronous{}, delay_compensation_adaptive{}, none{}, 3));
    CHECK(std::filesystem::exists(order.string() + ".rank2"));
}

TEST_CASE("gradients that came too late for their round are dropped again") {
    const scratch_folder folder("arrivals_dropped");
    const auto order = folder.path() / "order", again = folder.path() / "again";
    const auto with = [&](const serving& s) {
        return parameter_server{sgd{.learning_rate = 0.01}, bulk_synchronous{.backups = 1},
                                no_compensation{}, none{}, s};
    };
    train<over_uneven>(4, with(to_file(order)), pulled());
    train(4, with(to_file(again, order)), pulled());
    CHECK(count(text_in(order), " dropped ") > 0);
    CHECK(text_in(again) == text_in(order));
}

TEST_CASE("a second call of fit goes on in the same order") {
    const scratch_folder folder("arrivals_two_fits");
    const auto order = folder.path() / "order";
    const auto twice = [&](auto over, const serving& servers) {
        std::vector<float> end;
        decltype(over)::run(3, [&](auto& transport) {
            number_model model = pulled().model;
            trainer trainer{model, served_by(servers), transport, {.batch_size = 4}};
            for (int call = 0; call < 2; ++call) trainer.fit(numbered{48}, epochs{1});
            if (transport.rank() == 0)
                end.assign(trainer.parameters().begin(), trainer.parameters().end());
        });
        return end;
    };
    const auto recorded = twice(over_uneven{}, to_file(order));
    CHECK(twice(over_in_process{}, to_file({}, order)) == recorded);
    CHECK(count(text_in(order), " begins ") == 6);
}

TEST_CASE("an order of another configuration, world or run is refused by what was expected") {
    const scratch_folder folder("arrivals_refused");
    const auto order = folder.path() / "order";
    train<over_uneven>(4, served_by(to_file(order)), pulled());
    const serving follow = to_file({}, order);

    const std::string rate = refusal(4, served_by(follow, 0.02));
    CHECK(rate.find("expected 'strategy.optimizer.learning_rate = 0.02', as this run has it; there "
                    "is 'strategy.optimizer.learning_rate = 0.01'") != rate.npos);
    const std::string fewer = refusal(3, served_by(follow));
    CHECK(fewer.find("expected 'workers = 3', as this run has it; there is 'workers = 4'") !=
          fewer.npos);
    exercise other = pulled();
    other.seed = 2;
    const std::string seed = refusal(4, served_by(follow), other);
    CHECK(seed.find("gradient of round 0 as it was recorded; there is another one: the data, the "
                    "model, the seed or the program differ") != seed.npos);
    exercise shorter = pulled();
    shorter.length = epochs{1};
    const std::string ends = refusal(4, served_by(follow), shorter);
    CHECK(ends.find("'s gradient of round 6; there is that worker ") != ends.npos);
    exercise longer = pulled();
    longer.length = epochs{3};
    const std::string goes_on = refusal(4, served_by(follow), longer);
    CHECK(goes_on.find(" is done; there is worker ") != goes_on.npos);
    const std::string none = refusal(4, served_by(to_file({}, folder.path() / "none")));
    CHECK(none.find("none' cannot be opened: No such file or directory") != none.npos);
    REQUIRE(::mkfifo((folder.path() / "fifo").c_str(), 0600) == 0);  // nobody writes it
    const std::string fifo = refusal(4, served_by(to_file({}, folder.path() / "fifo")));
    CHECK(fifo.find("cannot be opened: it is a FIFO; expected a regular file") != fifo.npos);
    const std::string nowhere = refusal(4, served_by(to_file("/dev/null/order")));
    CHECK(nowhere.find("cannot be opened for the order of arrivals") != nowhere.npos);
}

TEST_CASE("record_arrivals: the file is removed -> the record ends, training does not") {
    const scratch_folder folder("arrivals_removed");
    const auto order = folder.path() / "order";
    const testing::listener all;
    detail::arrival_recorder recorder(order, detail::diagnostics(0, false));
    recorder.begin({.server = 0, .workers = 2, .configuration = "a = 1\n"});
    CHECK(recorder.failure().empty());
    std::filesystem::remove(order);
    for (int turn = 0; turn < 2; ++turn) {
        recorder.went(1, {});
        recorder.answered({}, {});
    }
    CHECK_FALSE(std::filesystem::exists(order));
    const std::string failure = "'" + order.string() +
                                "' cannot be written: it was removed while it was being written; "
                                "the order of arrivals ends there";
    CHECK(recorder.failure() == failure);
    REQUIRE(all.all().size() == 1);
    CHECK(all.all()[0].text == "parameter_server: " + failure + ", training goes on");
    CHECK(arrivals_path("/dev/null", 1) == "/dev/null");
    CHECK(detail::free_arrivals_path("/dev/null") == "/dev/null");
}

TEST_CASE("an order that is to be followed is not emptied by recording in the same file") {
    const scratch_folder folder("arrivals_same_file");
    const auto order = folder.path() / "order", link = folder.path() / "link";
    train<over_uneven>(4, served_by(to_file(order)), pulled());
    std::filesystem::create_symlink(order, link);
    const std::string whole = text_in(order);
    for (const auto& record : {order, link}) {
        const std::string same = refusal(4, served_by(to_file(record, order)));
        CHECK(same.find("record_arrivals '" + record.string() + "' and replay_arrivals '" +
                        order.string() + "' are both of '") != same.npos);
        CHECK(text_in(order) == whole);
    }
    const std::filesystem::path second = order.string() + ".rank1";
    put(second, whole);
    const std::string of_rank = refusal(4, served_by(to_file(order, second, false, 2)));
    CHECK(of_rank.find("which would be emptied before it is read") != of_rank.npos);
    CHECK(text_in(order) == whole);
    CHECK(text_in(second) == whole);
}

TEST_CASE("an order that was cut off or spoilt is followed up to there, and its line is named") {
    const scratch_folder folder("arrivals_cut");
    const auto order = folder.path() / "order", spoilt = folder.path() / "spoilt";
    train<over_uneven>(4, served_by(to_file(order)), pulled());
    const std::string whole = text_in(order);
    const auto line_of = [&](std::size_t at) { return 1 + count(whole.substr(0, at), "\n"); };
    const std::size_t middle = whole.find(" gradient ", whole.size() / 2);
    const std::string place = "line " + std::to_string(line_of(middle));
    const serving follow = to_file({}, spoilt);

    put(spoilt, whole.substr(0, middle + 12));  // inside of a line
    const std::string cut = refusal(4, served_by(follow));
    CHECK(cut.find(place + ": expected nothing more: the order ends; there is worker ") !=
          cut.npos);

    // After a gradient that nobody was answered for.
    const std::size_t after = whole.find('\n', middle) + 1;
    put(spoilt, whole.substr(0, after));
    CHECK(refusal(4, served_by(follow)).find(": expected nothing more: the order ends; there is") !=
          std::string::npos);

    std::string wrong = whole;
    wrong[middle + 1] = 'G';
    put(spoilt, wrong);
    const std::string letter = refusal(4, served_by(follow));
    CHECK(letter.find(place + ": at byte ") != letter.npos);
    CHECK(letter.find("expected a kind of arrival, found 71") != letter.npos);

    // One line twice: the worker waits for an answer, and is not waited for.
    const std::size_t begin = whole.rfind('\n', middle) + 1;
    const std::string line = whole.substr(begin, whole.find('\n', begin) + 1 - begin);
    put(spoilt, whole.substr(0, begin) + line + whole.substr(begin));
    const std::string next = "line " + std::to_string(line_of(middle) + 1);
    CHECK(refusal(4, served_by(follow)).find(next + ": expected an answer for worker ") !=
          std::string::npos);

    const std::size_t number = whole.find(' ', middle + 1) + 1;
    put(spoilt, whole.substr(0, begin) + "5 went " + whole[number] + "\n" + whole.substr(begin));
    const std::string went = refusal(4, served_by(follow));
    CHECK(went.find(place + ": expected an order in which nobody went; there is that worker ") !=
          went.npos);
}
