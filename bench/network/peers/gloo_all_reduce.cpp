// All-reduce and all-gather by Gloo over TCP: the same arguments, data, rounds and output as
// all_reduce.cpp. Ranks meet in the folder --store, which must be new. See network.py, which builds
// and runs it.

#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "../timed_rounds.hpp"

namespace {

using bench::contestant, bench::place, bench::settings;
using context = std::shared_ptr<gloo::rendezvous::Context>;

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    if (value == nullptr) throw std::runtime_error(std::string(name) + " is not set");
    return value;
}

/// Makes connections. Every algorithm has its own: a function over connections that one of the
/// older classes has used takes hundreds of times as long.
class connector {
public:
    connector(place where, const std::string& folder) : where_(where), store_(folder) {
        gloo::transport::tcp::attr device;
        device.iface = variable("SOTTO_INTERFACE");
        through_ = gloo::transport::tcp::CreateDevice(device);
    }

    place where() const noexcept { return where_; }

    context connect() {
        auto made = std::make_shared<gloo::rendezvous::Context>(where_.rank, where_.size);
        made->setTimeout(std::chrono::minutes(10));
        gloo::rendezvous::PrefixStore own(std::to_string(made_++), store_);
        made->connectFullMesh(own, through_);
        return made;
    }

private:
    place where_;
    gloo::rendezvous::FileStore store_;
    std::shared_ptr<gloo::transport::Device> through_;
    int made_ = 0;
};

void barrier(const context& through) {
    gloo::BarrierOptions options(through);
    gloo::barrier(options);
}

void measure_all_reduce(const settings& s, connector& connections, const context& everyone,
                        std::int64_t bytes) {
    const place where = connections.where();
    bench::summed_values data(bytes, where);
    float* const values = data.values().data();
    const std::size_t n = data.values().size();
    std::vector<contestant> contestants;

    // The functions that PyTorch calls, and the classes that were there before them and have more
    // algorithms.
    using choice = gloo::AllreduceOptions::Algorithm;
    const auto add_function = [&](const char* name, choice which) {
        if (!s.wants(name)) return;
        auto options = std::make_shared<gloo::AllreduceOptions>(connections.connect());
        options->setAlgorithm(which);
        options->setOutput(values, n);
        options->setReduceFunction(
            static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
        contestants.push_back(
            {std::string("Gloo ") + name, [options] { gloo::allreduce(*options); }});
    };
    add_function("ring", choice::RING);
    add_function("bcube", choice::BCUBE);
    const auto add_class = [&]<class Algorithm>(const char* name, std::type_identity<Algorithm>) {
        if (!s.wants(name)) return;
        auto made = std::make_shared<Algorithm>(connections.connect(), std::vector<float*>{values},
                                                static_cast<int>(n));
        contestants.push_back({std::string("Gloo ") + name, [made] { made->run(); }});
    };
    add_class("ring_class", std::type_identity<gloo::AllreduceRing<float>>());
    add_class("ring_chunked", std::type_identity<gloo::AllreduceRingChunked<float>>());
    add_class("halving_doubling", std::type_identity<gloo::AllreduceHalvingDoubling<float>>());
    // Among four ranks its sums are wrong when it runs again at once.
    if (where.size == 2)
        add_class("bcube_class", std::type_identity<gloo::AllreduceBcube<float>>());
    bench::measure(
        s, where, bytes, contestants, [&] { data.prepare(); }, [&] { barrier(everyone); },
        [&](std::size_t, int operations) { data.check(operations); });
}

void measure_all_gather(const settings& s, connector& connections, const context& everyone,
                        std::int64_t bytes) {
    const place where = connections.where();
    const auto ranks = static_cast<std::size_t>(where.size), each = static_cast<std::size_t>(bytes);
    bench::gathered_bytes data(bytes, where);
    std::vector<char> all(ranks * each);
    gloo::AllgathervOptions options(connections.connect());
    options.setInput(data.own().data(), each);
    options.setOutput(all.data(), std::vector<std::size_t>(ranks, each));
    const std::vector<contestant> contestants{
        {"Gloo allgatherv", [&] { gloo::allgatherv(options); }}};
    bench::measure(
        s, where, bytes, contestants, [&] { data.prepare(); }, [&] { barrier(everyone); },
        [&](std::size_t, int) {
            data.check([&](int rank) {
                return std::span(all).subspan(static_cast<std::size_t>(rank) * each, each);
            });
        });
}

}  // namespace

int main(int count, char** arguments) try {
    settings s;
    std::string store;
    CLI::App app{"All-reduce and all-gather by Gloo over TCP"};
    s.add_to(app);
    app.add_option("--store", store, "A new folder, where the ranks meet")->required();
    CLI11_PARSE(app, count, arguments);
    connector connections({std::stoi(variable("SOTTO_RANK")), std::stoi(variable("SOTTO_SIZE"))},
                          store);
    const context everyone = connections.connect();
    for (const std::int64_t bytes : s.sizes)
        if (s.operation == "all_gather")
            measure_all_gather(s, connections, everyone, bytes);
        else
            measure_all_reduce(s, connections, everyone, bytes);
    barrier(everyone);
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
