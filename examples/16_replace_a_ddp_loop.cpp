// Replaces a training loop of PyTorch's DistributedDataParallel by ten lines of C++.
//
// The loop in Python:
//
//   dist.init_process_group("gloo")
//   net = DistributedDataParallel(make_net())
//   optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
//   for epoch in range(5):
//       sampler.set_epoch(epoch)
//       for inputs, labels in loader:
//           optimizer.zero_grad()
//           torch.nn.functional.cross_entropy(net(inputs), labels).backward()
//           optimizer.step()
//   torch.save(net.module.state_dict(), "net.pt")

#include <sotto/adapters/torch.hpp>
#include <sotto/models.hpp>
#include <sotto/sotto.hpp>

#include <cstdint>
#include <cstdio>
#include <memory>

#include "transport.hpp"

namespace {

torch::nn::Sequential make_net() {
    torch::manual_seed(1);
    return torch::nn::Sequential(torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 8, 5).bias(false)),
                                 torch::nn::BatchNorm2d(8), torch::nn::ReLU(),
                                 torch::nn::MaxPool2d(4), torch::nn::Flatten(),
                                 torch::nn::Linear(8 * 6 * 6, 10));
}

/// Returns a copy: each rank needs its own module, also if ranks are threads.
torch::nn::Sequential copy_of(const torch::nn::Sequential& net) {
    return std::dynamic_pointer_cast<torch::nn::SequentialImpl>(net->clone());
}

int train(const examples::transport_options& chosen, bool quick) {
    at::set_num_threads(1);  // torch threads of each rank
    const auto digits = sotto::data::digits(quick ? 1'500 : 6'000, sotto::random_stream{1});
    const auto unseen = sotto::data::digits(500, sotto::random_stream{2});
    const auto made = make_net();

    double accuracy = 1.0;
    examples::with_transport(chosen, [&](auto& transport) {
        auto net = copy_of(made);
        sotto::torch_model model{net, {.input = {1, 28, 28}}};
        sotto::trainer trainer{
            model, sotto::all_reduce{sotto::momentum_sgd{.learning_rate = 0.05, .momentum = 0.9}},
            transport};
        const auto report = trainer.fit(digits, sotto::epochs{quick ? 3 : 5},
                                        sotto::evaluate_on{unseen}, sotto::progress_bar{});
        trainer.with_evaluated([&](auto& whole, auto parameters, auto&) {  // with mean buffers
            whole.write_back(parameters);
            if (transport.rank() == 0) torch::save(net, "net.pt");
        });
        if (transport.rank() == 0) accuracy = report.evaluated->accuracy;
    });
    std::printf("accuracy %.2f %%\n", 100.0 * accuracy);
    return accuracy > 0.7 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    examples::transport_options transport;
    bool quick = false;
    CLI::App app{"Trains a module of LibTorch on many workers", "replace_a_ddp_loop"};
    examples::add_transport(app, transport);
    app.add_flag("--quick", quick, "The same in seconds");
    return examples::run(app, argc, argv, [&] { return train(transport, quick); });
}
