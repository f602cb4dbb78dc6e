// Starts the ranks of a job as processes of this machine.

#include <sotto/core/standard_streams.hpp>
#include <sotto/core/exit_code.hpp>
#include <sotto/core/printable.hpp>
#include <sotto/launch/local_processes.hpp>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>

namespace {

constexpr const char* usage =
    "usage: sotto_launch -n RANKS [--grace SECONDS] [--keep-going] [--job NAME]\n"
    "                    COMMAND [ARGUMENTS]...\n"
    "\n"
    "Runs COMMAND as so many processes of this machine, ranks of one job. Each finds its place in\n"
    "SOTTO_RANK, SOTTO_SIZE, SOTTO_ADDRESS and SOTTO_PORT, which "
    "sotto::launch::from_environment()\n"
    "reads. Their lines come out with their rank before them.\n"
    "\n"
    "  -n RANKS          how many\n"
    "  --grace SECONDS   when a rank failed: after so many seconds all that still run get "
    "SIGTERM,\n"
    "                    and SIGKILL after as many more; 0 to 86400, 5 unless given\n"
    "  --job NAME        the job's name, which its ranks find in SOTTO_JOB_NAME: a job that is\n"
    "                    started again under its name has its folders of checkpoints at once,\n"
    "                    also on another machine; else SOTTO_JOB_NAME, else a new name\n"
    "  --keep-going      when a rank failed the others are left alone, as those that survive a\n"
    "                    loss need; it is said how the one that was lost is started again\n"
    "\n"
    "Ctrl-C, SIGTERM and SIGHUP are passed on to all ranks, which may then take as long as they\n"
    "like to end, whatever --grace says; a second one kills them. Nothing they started is left\n"
    "behind. Ctrl-Z halts all ranks, and fg lets them go on.\n"
    "The exit status is that of the rank that failed first, also with --keep-going. A rank that\n"
    "ends with 3 failed because of another: if one ends otherwise, that rank failed first.\n"
    "\n"
    "  0      all ranks are done\n"
    "  1      fault: a value that is not finite, a disk, a bug\n"
    "  2      usage: options, configuration or input that cannot work; do not retry\n"
    "  3      another rank or the network failed; start the job again\n"
    "  4      the work is done, but output that was asked for is incomplete\n"
    "  128+N  signal N ended the rank; start the job again if the signal came from outside\n";

constexpr double grace_seconds_max = 86400.0;  // a day

template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number value{};
    const auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (why != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

int refuse(const char* what, std::string_view given) {
    std::fprintf(stderr, "sotto_launch: %s, not '%s'\n%s", what, sotto::printable(given).c_str(),
                 usage);
    return static_cast<int>(sotto::exit_code::usage);
}

/// A variable that places ranks of a job of other machines too, which this program would override
/// unheard; null where there is none. Within a job of its own they are that job's.
const char* placed_otherwise() {
    if (std::getenv("SOTTO_JOB") != nullptr) return nullptr;
    for (const char* const name : {"SOTTO_RANK", "SOTTO_SIZE", "SOTTO_ADDRESS"}) {
        const char* const value = std::getenv(name);
        if (value != nullptr && *value != '\0') return name;
    }
    return nullptr;
}

}  // namespace

int main(int argc, char** argv) try {
    sotto::open_standard_streams();
    sotto::launch::local_processes job;
    job.size = 0;
    int at = 1;
    while (at < argc && argv[at][0] == '-') {
        const std::string_view flag = argv[at++];
        if (flag == "--") break;
        if (flag == "-h" || flag == "--help") {
            std::fputs(usage, stdout);
            sotto::require_standard_output();
            return 0;
        }
        if (flag == "--keep-going") {
            job.keep_going = true;
            continue;
        }
        const std::string_view given = at < argc ? argv[at] : "";
        if (flag == "-n") {
            const auto size = number_in<int>(given);
            if (!size || *size < 1) return refuse("-n takes a number of ranks", given);
            job.size = *size;
        } else if (flag == "--grace") {
            const auto seconds = number_in<double>(given);
            if (!seconds || !(*seconds >= 0.0) || *seconds > grace_seconds_max)
                return refuse("--grace takes a number of seconds from 0 to 86400", given);
            job.grace.until_terminate = job.grace.until_kill =
                std::chrono::duration_cast<sotto::duration>(
                    std::chrono::duration<double>(*seconds));
        } else if (flag == "--job") {
            if (given.empty()) return refuse("--job takes a name", given);
            job.job = given;
        } else {
            return refuse("-n, --grace, --keep-going, --job or a command was expected", flag);
        }
        ++at;
    }
    if (job.size == 0) return refuse("-n RANKS was expected", at < argc ? argv[at] : "");
    if (at >= argc) return refuse("a command was expected", "");
    if (const char* const name = placed_otherwise()) {
        std::fprintf(stderr,
                     "sotto_launch: %s is set, but sotto_launch starts all ranks on this machine "
                     "and places them itself: unset it. Ranks on several machines are started one "
                     "by one, or by torchrun, srun or mpirun\n",
                     name);
        return static_cast<int>(sotto::exit_code::usage);
    }
    job.command.assign(argv + at, argv + argc);
    const auto failure = sotto::launch::run(job);
    return failure ? failure->exit_status() : 0;
} catch (...) {
    return sotto::report_exception();  // its errors begin with "launch: "
}
