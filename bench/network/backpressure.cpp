// A receiver is stopped in the middle of its work and goes on later: how much memory the other rank
// takes meanwhile, which sends as far as it can. One line of JSON:
//   bench_network_backpressure --work messages|sums --seconds 60

#include <sotto/collectives/all_reduce.hpp>
#include <sotto/collectives/detail/operation.hpp>
#include <sotto/transports/tcp.hpp>

#include <CLI/CLI.hpp>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "forked.hpp"

namespace {

struct settings {
    std::string work = "messages";
    double seconds = 60.0;
    std::int64_t budget = sotto::tcp_options{}.budget;
};

constexpr std::uint16_t port = 20000;  // nobody else's, in a network of its own
constexpr std::int64_t message_bytes = 65536, messages = 32768;
constexpr std::size_t messages_lent = 512;                  // under way at once: 32 MiB
constexpr std::int64_t values = 4 << 20, sums = 96;         // 16 MiB a sum
static_assert(messages / 4 > std::int64_t{messages_lent});  // all is lent before the halt

/// What is to be seen of a process from outside: shared memory.
class progress {
public:
    progress()
        : bytes_(new (::mmap(nullptr, sizeof *bytes_, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0)) std::atomic<std::int64_t>(0)) {}
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;
    ~progress() { ::munmap(bytes_, sizeof *bytes_); }

    void add(std::int64_t bytes) const noexcept { *bytes_ += bytes; }
    std::int64_t bytes() const noexcept { return *bytes_; }

private:
    std::atomic<std::int64_t>* bytes_;
};

std::byte content_of(std::int64_t message) noexcept {
    return static_cast<std::byte>(message * 131 >> 3 & 255);
}

void send_all(sotto::tcp& through, const progress& sent, int tells) {
    std::vector<std::vector<std::byte>> lent(messages_lent, std::vector<std::byte>(message_bytes));
    std::vector<sotto::request> in_flight(messages_lent);
    const auto finish = [&](std::size_t slot) { sent.add(through.wait(in_flight[slot]).bytes); };
    bench::tell(tells, "begins");
    for (std::int64_t m = 0; m < messages; ++m) {
        const std::size_t slot = static_cast<std::size_t>(m) % messages_lent;
        if (m >= std::int64_t{messages_lent}) finish(slot);
        std::fill(lent[slot].begin(), lent[slot].end(), content_of(m));
        in_flight[slot] = through.send(1, {16, 0, static_cast<std::uint64_t>(m)}, lent[slot]);
    }
    for (std::size_t slot = 0; slot < messages_lent; ++slot) finish(slot);
}

void receive_all(sotto::tcp& through, int tells) {
    std::vector<std::byte> room(message_bytes);
    for (std::int64_t m = 0; m < messages; ++m) {
        if (m == messages / 4) bench::tell(tells, "in the middle");
        through.wait(through.receive(0, {16, 0, static_cast<std::uint64_t>(m)}, room));
        if (std::count(room.begin(), room.end(), content_of(m)) != message_bytes)
            throw std::runtime_error("message " + std::to_string(m) + " is another one");
    }
}

void add_up(sotto::tcp& through, const progress& sent, int tells) {
    std::vector<float> mine(static_cast<std::size_t>(values));
    sotto::detail::collectives::all_reduce sum(through, values);
    if (through.rank() == 0) bench::tell(tells, "begins");
    for (std::int64_t round = 0; round < sums; ++round) {
        std::fill(mine.begin(), mine.end(), static_cast<float>(round + through.rank()));
        sum.start(mine, {16, 0, static_cast<std::uint64_t>(round)});
        if (through.rank() == 1 && round == sums / 4) bench::tell(tells, "in the middle");
        sotto::detail::collectives::run(through, sum);
        if (std::count(mine.begin(), mine.end(), static_cast<float>(2 * round + 1)) != values)
            throw std::runtime_error("sum " + std::to_string(round) + " is wrong");
        if (through.rank() == 0) sent.add(4 * values);
    }
}

void take_part(const settings& s, int rank, const progress& sent, int tells) {
    sotto::tcp_options options;
    options.rank = rank;
    options.size = 2;
    options.port = port;
    options.budget = s.budget;
    // A rank that is stopped is to be waited for.
    options.dead_after = options.timeout = std::chrono::hours(1);
    sotto::tcp through = sotto::tcp::join(options);
    if (s.work == "sums")
        add_up(through, sent, tells);
    else
        rank == 0 ? send_all(through, sent, tells) : receive_all(through, tells);
    through.agree(true);
}

/// Resident, in bytes.
std::int64_t memory_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("VmRSS:")) return 1024 * std::stoll(line.substr(6));
    throw std::runtime_error("the sender has ended");
}

nlohmann::json measure(const settings& s) {
    const progress sent;
    const auto rank = [&](int number) {
        return bench::forked([&, number](int tells) { take_part(s, number, sent, tells); });
    };
    bench::forked sender = rank(0), receiver = rank(1);
    const auto hear = [](bench::forked& from) {
        while (from.lines().empty() && !from.closed()) from.read();
    };
    hear(sender);
    const std::int64_t at_first = memory_of(sender.id());
    hear(receiver);
    const std::int64_t before = memory_of(sender.id()), sent_before = sent.bytes();
    receiver.signal(SIGSTOP);
    int status = 0;
    ::waitpid(receiver.id(), &status, WUNTRACED);
    if (!WIFSTOPPED(status)) throw std::runtime_error("the receiver ended before it was stopped");

    using clock = std::chrono::steady_clock;
    const auto until = clock::now() + std::chrono::duration<double>(s.seconds);
    std::int64_t most = before;
    while (clock::now() < until) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        most = std::max(most, memory_of(sender.id()));
    }
    const std::int64_t sent_meanwhile = sent.bytes() - sent_before;
    receiver.signal(SIGCONT);
    for (bench::forked* const f : {&sender, &receiver}) {
        while (!f->closed()) f->read();
        if (f->wait() != 0) throw std::runtime_error("a rank did not finish its work");
    }
    return {{"work", s.work},
            {"seconds", s.seconds},
            {"budget", s.budget},
            {"at_first", at_first},
            {"before", before},
            {"most", most},
            {"sent_meanwhile", sent_meanwhile}};
}

}  // namespace

int main(int count, char** arguments) try {
    settings s;
    CLI::App app{"How much memory a rank takes while the one that it sends to is stopped"};
    app.add_option("--work", s.work)->check(CLI::IsMember({"messages", "sums"}));
    app.add_option("--seconds", s.seconds, "That the receiver is stopped")
        ->check(CLI::Range(0.1, 3000.0));
    app.add_option("--budget", s.budget, "tcp_options::budget, in bytes");
    CLI11_PARSE(app, count, arguments);
    std::puts(measure(s).dump().c_str());
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
