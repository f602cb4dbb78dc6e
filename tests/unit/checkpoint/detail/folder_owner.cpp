#include "sotto/checkpoint/detail/folder_owner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/posix_files.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/detail/files/file_kind.hpp"
#include "support/folders.hpp"
#include "support/memory_disk.hpp"

using namespace sotto;
using namespace std::chrono_literals;
using detail::checkpoint::claimant, detail::checkpoint::ownership;
using sotto::detail::process_state;
using testing::memory_disk, testing::memory_files;

namespace {

const std::string owner_file(detail::checkpoint::owner_name);

/// A claimant of a process that does not exist here.
claimant of(const std::string& job, const std::string& host = "a", std::int64_t process = 1) {
    claimant who{job, {host, "boot of " + host, 7, process, 100 + process}, {}};
    who.claim = "claim of " + job + " on " + host + std::to_string(process);
    who.folder = memory_disk().folder;
    return who;
}

/// Processes as this one sees them, by their numbers; it knows nothing of others.
struct seen_processes {
    std::map<std::int64_t, process_state> states{};

    process_state operator()(const sotto::detail::process_identity& process) const {
        const auto found = states.find(process.id);
        return found == states.end() ? process_state::unknown : found->second;
    }
};

using owner = detail::checkpoint::folder_owner;

owner own(const memory_files& files, claimant who, seen_processes seen = {}) {
    return owner(files, "run", std::move(who), seen);
}

ownership attempt(owner& one, std::string& why) {
    return one.attempt(why);
}
ownership attempt(owner& one) {
    std::string ignored;
    return one.attempt(ignored);
}
std::string why_not(owner& one) {
    std::string why;
    CHECK(one.attempt(why) != ownership::held);
    return why;
}

std::string content(const memory_files& files) {
    const auto found = files.disk().names.find(owner_file);
    if (found == files.disk().names.end()) return "none";
    const bytes& text = found->second->now;
    return {reinterpret_cast<const char*>(text.data()), text.size()};
}

void put(memory_files& files, const std::string& text) {
    auto file = std::make_shared<memory_disk::file>();
    const auto all = std::as_bytes(std::span(text));
    file->now.assign(all.begin(), all.end());
    files.disk().enter(owner_file, file);
}

}  // namespace

TEST_CASE("folder_owner: a free folder -> owned, named in a file that goes at the end") {
    const memory_files files;
    {
        owner mine = own(files, of("one"));
        CHECK(content(files) == "none");
        CHECK(attempt(mine) == ownership::held);
        CHECK(content(files) ==
              "sotto.folder_owner 1\njob = one\nclaim = claim of one on a1\nhost = a\n"
              "boot = boot of a\npid_namespace = 7\nprocess = 1\nstarted = 101\nfolder = 1\n");
        CHECK(attempt(mine) == ownership::held);
        CHECK(mine.problem().empty());
        CHECK(files.disk().tasks.size() == 1);
    }
    CHECK(content(files) == "none");
    CHECK(files.disk().tasks.empty());
    CHECK(files.disk().locked.empty());
}

TEST_CASE("folder_owner: another job whose process runs here -> refused at once") {
    const memory_files files;
    owner first = own(files, of("one"));
    REQUIRE(attempt(first) == ownership::held);
    const seen_processes seen{{{1, process_state::runs}}};
    owner second = own(files, of("two", "a", 2), seen);
    CHECK(why_not(second) ==
          "the folder 'run' belongs to job 'one' (process 1 on host 'a'), which runs on this host; "
          "give each job a folder of its own, or end that one before this one begins");
    owner same = own(files, of("one", "a", 3), seen);  // two at once are no restart
    CHECK(attempt(same) == ownership::refused);
    CHECK(first.problem().empty());
}

TEST_CASE("folder_owner: an owner that has ended -> taken over at once, by any job") {
    const memory_files files;
    owner first = own(files, of("one"));
    REQUIRE(attempt(first) == ownership::held);
    {
        owner second = own(files, of("two", "a", 2), {{{1, process_state::ended}}});
        CHECK(attempt(second) == ownership::held);
        CHECK(second.problem().empty());
        const std::string lost =
            "the folder 'run' was taken over by job 'two' (process 2 on host 'a')";
        CHECK(first.problem() == lost);
        first.renew();
        CHECK(content(files) == sotto::detail::checkpoint::owner_text(of("two", "a", 2)));
    }
    // What was lost stays so, though the other one has left: who knows what it wrote.
    CHECK(first.problem().starts_with("the folder 'run' was taken over by "));
    CHECK(content(files) == "none");
    CHECK(attempt(first) == ownership::held);  // by another attempt, which looks at the folder
    CHECK(first.problem().empty());
}

TEST_CASE("folder_owner: the same job on another host -> taken over at once") {
    const memory_files files;
    owner first = own(files, of("one", "a"));
    REQUIRE(attempt(first) == ownership::held);
    owner again = own(files, of("one", "b", 9));
    CHECK(attempt(again) == ownership::held);
    CHECK(first.problem() ==
          "the folder 'run' was taken over by job 'one' (process 9 on host 'b')");
    // It runs here, but has not renewed its claim for a minute: it hangs.
    files.disk().pass(60s);
    owner here = own(files, of("one", "b", 10), {{{9, process_state::runs}}});
    CHECK(attempt(here) == ownership::held);
}

TEST_CASE("folder_owner: another job on another host, which is silent -> taken over after 60 s") {
    const memory_files files;
    owner first = own(files, of("one", "a"));
    REQUIRE(attempt(first) == ownership::held);
    files.disk().pass(25s);
    owner second = own(files, of("two", "b", 2));
    CHECK(why_not(second) ==
          "the folder 'run' belongs to job 'one' (process 1 on host 'a'); if that job does not "
          "renew its claim within 35 s, the folder is this one's");
    files.disk().pass(34s);
    CHECK(attempt(second) == ownership::waits);
    files.disk().pass(1s);
    CHECK(attempt(second) == ownership::held);
    CHECK_FALSE(first.problem().empty());
    // One that begins later need not wait for what happened long ago.
    files.disk().pass(60s);
    owner third = own(files, of("three", "c", 3));
    CHECK(attempt(third) == ownership::held);
}

TEST_CASE("folder_owner: another job on another host, which renews its claim -> refused") {
    const memory_files files;
    owner first = own(files, of("one", "a"));
    REQUIRE(attempt(first) == ownership::held);
    owner second = own(files, of("two", "b", 2));
    CHECK(attempt(second) == ownership::waits);
    files.disk().pass(10s);
    files.disk().call_tasks();
    CHECK(why_not(second) ==
          "the folder 'run' belongs to job 'one' (process 1 on host 'a'), which is alive: it has "
          "just renewed its claim; give each job a folder of its own, or end that one before this "
          "one begins");
    CHECK(attempt(second) == ownership::waits);  // another attempt sees no renewal yet
    // It keeps the folder for as long as it renews its claim.
    for (int i = 0; i < 20; ++i) {
        files.disk().pass(10s);
        files.disk().call_tasks();
        owner other = own(files, of("three", "c", 3));
        CHECK(attempt(other) == ownership::waits);
    }
    CHECK(first.problem().empty());
}

TEST_CASE("folder_owner: the disk's clock jumps -> the claimant counts the 60 s itself") {
    const memory_files files;
    owner first = own(files, of("one", "a"));
    REQUIRE(attempt(first) == ownership::held);
    // Forward, as after the machine was suspended, of an owner that runs here.
    files.disk().clock += 10h;
    const seen_processes seen{{{1, process_state::runs}}};
    owner second = own(files, of("two", "a", 2), seen);
    CHECK(attempt(second) == ownership::waits);
    files.disk().call_tasks();
    CHECK(attempt(second) == ownership::refused);
    // Back: the claim is of the future.
    files.disk().clock -= 20h;
    owner third = own(files, of("three", "b", 3));
    CHECK(attempt(third) == ownership::waits);
    files.disk().pass(59s);
    CHECK(attempt(third) == ownership::waits);
    files.disk().pass(1s);
    CHECK(attempt(third) == ownership::held);
}

TEST_CASE("folder_owner: same job runs here, disk has no clock -> 60 s are seen first") {
    const memory_files files;
    owner first = own(files, of("one"));
    REQUIRE(attempt(first) == ownership::held);
    files.disk().clock -= 20h;  // the claim is of the future
    const seen_processes seen{{{1, process_state::runs}}};
    {
        owner second = own(files, of("one", "a", 2), seen);
        CHECK(attempt(second) == ownership::waits);
        files.disk().call_tasks();
        CHECK(attempt(second) == ownership::refused);
        CHECK(first.problem().empty());
    }
    files.disk().clock -= 20h;
    owner third = own(files, of("one", "a", 3), seen);
    CHECK(attempt(third) == ownership::waits);
    files.disk().pass(59s);
    CHECK(attempt(third) == ownership::waits);
    files.disk().pass(1s);
    CHECK(attempt(third) == ownership::held);
}

TEST_CASE("folder_owner: a copy of a folder in use -> the claim in it is void") {
    const auto put_claim = [](memory_files& files, const claimant& who) {
        put(files, sotto::detail::checkpoint::owner_text(who));
        files.disk().folder = 2;  // than the one that was claimed
    };
    const seen_processes seen{{{1, process_state::runs}}};
    {
        memory_files files;
        put_claim(files, of("one"));
        owner mine = own(files, of("two", "a", 2), seen);
        CHECK(attempt(mine) == ownership::held);
        claimant expected = of("two", "a", 2);
        expected.folder = 2;
        CHECK(content(files) == sotto::detail::checkpoint::owner_text(expected));
        CHECK(mine.problem().empty());
    }
    {
        memory_files files;
        put_claim(files, of("one", "b"));  // some disks have other numbers on another host
        owner mine = own(files, of("two", "a", 2));
        CHECK(attempt(mine) == ownership::waits);
        files.disk().pass(60s);
        CHECK(attempt(mine) == ownership::held);
    }
    memory_files files;
    claimant earlier = of("one");
    earlier.folder.reset();
    put_claim(files, earlier);
    owner mine = own(files, of("two", "a", 2), seen);
    CHECK(attempt(mine) == ownership::refused);
}

TEST_CASE("folder_owner: no memory when it ends -> the claim stays, and nothing is thrown") {
    struct full_files : memory_files {
        int open(const std::filesystem::path& path, std::error_code& why) {
            if (*is_full) throw std::bad_alloc();
            return memory_files::open(path, why);
        }
        std::shared_ptr<bool> is_full = std::make_shared<bool>(false);
    };
    const full_files files;
    {
        detail::checkpoint::folder_owner mine(files, "run", of("one"));
        std::string why;
        REQUIRE(mine.attempt(why) == ownership::held);
        *files.is_full = true;
    }
    CHECK(content(files) == sotto::detail::checkpoint::owner_text(of("one")));
    CHECK(files.disk().tasks.empty());
}

TEST_CASE("folder_owner: this user may not write there -> refused, other failures are not") {
    for (const auto& [failure, expected] :
         {std::pair(EACCES, ownership::refused), std::pair(EPERM, ownership::refused),
          std::pair(EROFS, ownership::refused), std::pair(ENOSPC, ownership::failed),
          std::pair(EIO, ownership::failed)}) {
        memory_files files;
        files.disk().failure = failure;
        files.disk().fails_at = 0;
        owner mine = own(files, of("one"));
        std::string why;
        CHECK(mine.attempt(why) == expected);
        CHECK(why.find("'run/checkpoints.owner': ") != why.npos);
    }
}

TEST_CASE("folder_owner: no file of that name can be read -> refused by kind, else failed") {
    struct odd_files : memory_files {
        int open(const std::filesystem::path&, std::error_code& why) { return why = fault, -1; }
        sotto::detail::file_fault fault{};
    };
    using sotto::detail::file_fault;
    for (const auto& [fault, expected] :
         {std::pair(file_fault::is_fifo, ownership::refused),
          std::pair(file_fault::dangling_link, ownership::refused),
          std::pair(file_fault::shortened_while_read, ownership::failed)}) {
        odd_files files;
        files.fault = fault;
        detail::checkpoint::folder_owner mine(files, "run", of("one"));
        std::string why;
        CHECK(mine.attempt(why) == expected);
        CHECK(why.ends_with(": move it away") == (expected == ownership::refused));
    }
}

TEST_CASE("folder_owner: another trainer of this process -> refused while it trains, else not") {
    const memory_files files;
    claimant one = of("one"), two = of("one");
    two.claim = "another";
    owner first = own(files, one);
    REQUIRE(attempt(first) == ownership::held);
    first.use(true);
    owner second = own(files, two);
    CHECK(why_not(second) ==
          "the folder 'run' belongs to job 'one' (process 1 on host 'a'), which is this one, and "
          "trains with it in another trainer; give each job a folder of its own, or end that one "
          "before this one begins");
    first.use(false);
    CHECK(attempt(second) == ownership::held);
    CHECK_FALSE(first.problem().empty());
}

TEST_CASE(
    "folder_owner: a claim that is cut off -> counted as another job's, a foreign file kept") {
    for (const char* text : {"", "sotto.fo", "sotto.folder_owner 1\njob = x\n", "\n"}) {
        CAPTURE(text);
        memory_files files;
        put(files, text);
        owner mine = own(files, of("one"));
        if (*text == '\n') {
            CHECK(why_not(mine) ==
                  "'run/checkpoints.owner' is no file of sotto's, but has the "
                  "name of one: move it away");
            files.disk().pass(61s);
            CHECK(attempt(mine) == ownership::refused);
            CHECK(content(files) == text);
            continue;
        }
        CHECK(why_not(mine).starts_with(
            "the folder 'run' belongs to a job that has only begun to claim it; if "));
        files.disk().pass(60s);
        CHECK(attempt(mine) == ownership::held);
    }
    memory_files files;
    put(files, std::string(50, '\0'));  // as a loss of power may leave it
    owner mine = own(files, of("one"));
    CHECK(attempt(mine) == ownership::waits);
    files.disk().pass(60s);
    CHECK(attempt(mine) == ownership::held);
}

TEST_CASE("folder_owner: any call of the disk fails -> nothing is claimed, the next attempt can") {
    for (const bool has_claim : {false, true})
        for (const bool of_looks : {false, true})
            for (std::int64_t call = 0;; ++call) {
                CAPTURE(has_claim);
                CAPTURE(of_looks);
                CAPTURE(call);
                memory_files files;
                if (has_claim) put(files, sotto::detail::checkpoint::owner_text(of("one", "a")));
                files.disk().pass(100s);
                files.disk().calls = files.disk().looks = 0;
                files.disk().failure = EIO;
                (of_looks ? files.disk().look_fails_at : files.disk().fails_at) = call;
                owner mine = own(files, of("two", "b", 2));
                std::string why;
                const ownership now = attempt(mine, why);
                const bool has_failed = (of_looks ? files.disk().looks : files.disk().calls) > call;
                CHECK(files.disk().locked.empty());
                if (now == ownership::failed) {
                    CHECK(why.find("'run/checkpoints.owner': Input/output error") != why.npos);
                    files.disk().look_fails_at = files.disk().fails_at = memory_disk::never;
                    CHECK(mine.problem().empty());     // it is tried again at the first checkpoint
                } else if (now == ownership::waits) {  // how old the claim is was not known
                    CHECK(has_claim);
                    files.disk().pass(60s);
                    CHECK(attempt(mine) == ownership::held);
                } else {
                    CHECK(now == ownership::held);
                }
                CHECK(content(files) == sotto::detail::checkpoint::owner_text(of("two", "b", 2)));
                if (!has_failed) break;
            }
}

TEST_CASE(
    "folder_owner: the claim was removed -> made again by the next writer, unless it is lost") {
    memory_files files;
    owner mine = own(files, of("one"));
    REQUIRE(attempt(mine) == ownership::held);
    files.disk().leave(owner_file);
    mine.renew();
    CHECK(content(files) == "none");  // a writer may have the folder locked
    CHECK(mine.problem().empty());
    CHECK(content(files) == sotto::detail::checkpoint::owner_text(of("one")));
    files.disk().leave(owner_file);
    owner other = own(files, of("two", "b", 2));
    REQUIRE(attempt(other) == ownership::held);
    CHECK(mine.problem() == "the folder 'run' was taken over by job 'two' (process 2 on host 'b')");
}

TEST_CASE("folder_owner: somebody has the folder locked -> waits, and is refused after 60 s") {
    memory_files files;
    std::error_code why;
    const int lock = files.lock("run", why);
    owner mine = own(files, of("one"));
    CHECK(why_not(mine) == "another process is writing into the folder 'run'");
    files.disk().pass(59s);
    CHECK(attempt(mine) == ownership::waits);
    files.disk().pass(1s);
    CHECK(attempt(mine) == ownership::refused);
    CHECK(mine.problem().empty());  // for one that holds the lock itself
    files.unlock(lock);
    CHECK(attempt(mine) == ownership::held);
}

TEST_CASE("folder_owner: no locks, two claim at the same moment -> one has it") {
    /// A disk without locks, on which another job acts before a file is made.
    struct unlocked_files : memory_files {
        using memory_files::memory_files;
        int lock(const std::filesystem::path&, std::error_code& why) { return why.clear(), 1; }
        void unlock(int) noexcept {}
        int create_new(const std::filesystem::path& path, std::error_code& why) {
            if (*before) std::exchange(*before, nullptr)();
            return memory_files::create_new(path, why);
        }
        std::shared_ptr<std::function<void()>> before = std::make_shared<std::function<void()>>();
    };
    for (const bool has_claim : {false, true}) {
        CAPTURE(has_claim);
        unlocked_files files;
        if (has_claim) {
            put(files, sotto::detail::checkpoint::owner_text(of("old", "c", 5)));
            files.disk().pass(60s);
        }
        detail::checkpoint::folder_owner first(files, "run", of("one", "a", 1)),
            second(files, "run", of("two", "b", 2));
        std::string ignored;
        *files.before = [&] { CHECK(second.attempt(ignored) == ownership::held); };
        CHECK(first.attempt(ignored) == ownership::waits);
        CHECK(second.problem().empty());
        CHECK(first.attempt(ignored) == ownership::waits);  // it may have ended since
        files.disk().pass(10s);
        files.disk().call_tasks();
        CHECK(first.attempt(ignored) == ownership::refused);
    }
}

TEST_CASE("folder_owner: another job claims first at the lock -> its claim stays") {
    /// A disk on which another job acts before the folder is locked.
    struct late_files : memory_files {
        using memory_files::memory_files;
        int lock(const std::filesystem::path& path, std::error_code& why) {
            if (*before) std::exchange(*before, nullptr)();
            return memory_files::lock(path, why);
        }
        std::shared_ptr<std::function<void()>> before = std::make_shared<std::function<void()>>();
    };
    late_files files;
    put(files, sotto::detail::checkpoint::owner_text(of("old", "c", 5)));
    files.disk().pass(60s);
    detail::checkpoint::folder_owner first(files, "run", of("one", "a", 1)),
        second(files, "run", of("two", "b", 2));
    std::string ignored;
    *files.before = [&] { CHECK(second.attempt(ignored) == ownership::held); };
    CHECK(first.attempt(ignored) == ownership::waits);
    CHECK(content(files) == sotto::detail::checkpoint::owner_text(of("two", "b", 2)));
    CHECK(second.problem().empty());
}

TEST_CASE("folder_owner: an owner that lost the folder ends -> claim stays") {
    const memory_files files;
    auto first = std::make_unique<owner>(files, "run", of("one"));
    REQUIRE(attempt(*first) == ownership::held);
    owner second = own(files, of("two", "b", 2), {{{1, process_state::ended}}});
    REQUIRE(attempt(second) == ownership::held);
    first.reset();
    CHECK(content(files) == sotto::detail::checkpoint::owner_text(of("two", "b", 2)));
    CHECK(second.problem().empty());
}

TEST_CASE("folder_owner: processes of unknown boots -> not taken for the same one") {
    const memory_files files;
    claimant one = of("one"), two = of("two");
    one.process.boot = two.process.boot = "";
    owner first = own(files, one);
    REQUIRE(attempt(first) == ownership::held);
    owner second = own(files, two);
    CHECK(attempt(second) == ownership::waits);
}

TEST_CASE("why_not_write: a checkpoint that this run did not write -> refused, none is removed") {
    memory_files files;
    owner mine = own(files, of("one"));
    REQUIRE(attempt(mine) == ownership::held);
    std::vector<std::int64_t> known{10, 20};
    const auto write = [&](std::int64_t step) {
        files.disk().enter(detail::checkpoint::file_name(step),
                           std::make_shared<memory_disk::file>());
    };
    const auto why = [&] { return detail::checkpoint::why_not_write(files, "run", mine, known); };
    write(10);
    write(20);
    CHECK(why().empty());
    write(15);
    CHECK(why() ==
          "the folder 'run' holds checkpoint-000000000015.safetensors, which another run "
          "wrote meanwhile; move it away, and give each run a folder of its own");
    files.disk().leave(detail::checkpoint::file_name(15));
    files.disk().leave(detail::checkpoint::file_name(10));  // as old ones are
    write(30);
    detail::checkpoint::note_written(files, "run", 30, known);
    CHECK(known == std::vector<std::int64_t>{20, 30});
    CHECK(why().empty());
    write(10);
    CHECK_FALSE(why().empty());
}

TEST_CASE("read_owner: what owner_text wrote, whatever it is called -> the same; else nothing") {
    claimant who = of("a job = of \n two lines \x1b[1m and \\ more", "h\xff");
    const std::string text = sotto::detail::checkpoint::owner_text(who);
    CHECK(std::ranges::count(text, '\n') == 9);
    const auto read = sotto::detail::checkpoint::read_owner(text);
    REQUIRE(read);
    CHECK(read->job == "a job = of \\n two lines \\x1b[1m and \\ more");
    CHECK(read->process.host == "h\\xff");
    CHECK(read->process.id == who.process.id);
    CHECK(read->process.started == who.process.started);
    CHECK(read->process.pid_namespace == who.process.pid_namespace);
    CHECK(read->claim == printable(who.claim));
    CHECK(read->folder == 1);
    // Earlier versions wrote no number of the folder.
    const std::size_t before_folder = text.rfind("folder = ");
    const auto earlier = sotto::detail::checkpoint::read_owner(text.substr(0, before_folder));
    REQUIRE(earlier);
    CHECK_FALSE(earlier->folder);
    CHECK(earlier->job == read->job);
    for (std::size_t size = 0; size < text.size(); ++size)
        if (size != before_folder)
            CHECK_FALSE(sotto::detail::checkpoint::read_owner(text.substr(0, size)));
    CHECK_FALSE(sotto::detail::checkpoint::read_owner(text + "more = 1\n"));
    CHECK_FALSE(sotto::detail::checkpoint::read_owner(text + "job = again\n"));
    std::string wrong = text;
    wrong.replace(wrong.find("process = 1"), 11, "process = x");
    CHECK_FALSE(sotto::detail::checkpoint::read_owner(wrong));
}

TEST_CASE("folder_owner: a real folder -> the same by the system's files") {
    const testing::scratch_folder scratch("folder_owner");
    const auto path = scratch.path() / owner_file;
    using real = detail::checkpoint::folder_owner;
    std::string why;
    {
        real first({}, scratch.path());
        CHECK(first.attempt(why) == ownership::held);
        CHECK(std::filesystem::is_regular_file(path));
        first.use(true);
        real second({}, scratch.path());
        CHECK(second.attempt(why) == ownership::refused);
        CHECK(why.find("trains with it in another trainer") != why.npos);
        CHECK(first.problem().empty());
        // It is shown by the file's time that its owner lives.
        detail::checkpoint::posix_files files;
        std::error_code problem;
        std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - 1h,
                                         problem);
        const auto old = files.changed(path, problem);
        first.renew();
        CHECK(files.changed(path, problem) > old);
        CHECK_FALSE(problem);
        const auto now = files.disk_now(scratch.path(), problem);
        CHECK_FALSE(problem);
        CHECK(now >= files.changed(path, problem));
    }
    CHECK(std::filesystem::is_empty(scratch.path()));
    {
        const auto run = scratch.path() / "run", branch = scratch.path() / "branch";
        std::filesystem::create_directory(run);
        real first({}, run);
        REQUIRE(first.attempt(why) == ownership::held);
        first.use(true);
        std::filesystem::copy(run, branch);
        real second({}, branch);
        CHECK(second.attempt(why) == ownership::held);
        CHECK(first.problem().empty());
        CHECK(second.problem().empty());
    }
    real gone({}, scratch.path() / "nowhere");
    CHECK(gone.attempt(why) == ownership::failed);
    CHECK(why.find("No such file or directory") != why.npos);
}
