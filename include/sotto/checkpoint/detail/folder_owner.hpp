#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/checkpoint/detail/job_name.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/files/file_kind.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/core/printable.hpp"
#include "sotto/core/detail/processes/process_identity.hpp"

namespace sotto::detail::checkpoint {

/// The file that says who writes into a folder of checkpoints.
inline constexpr std::string_view owner_name = "checkpoints.owner";

/// How often an owner shows that it lives.
inline constexpr duration renewal_period = std::chrono::seconds(10);
/// An owner that has not shown that for so long loses the folder to a job that asks for it.
inline constexpr duration renewal_max = std::chrono::seconds(60);
/// From one attempt to own a folder to the next, while it is not known whether its owner lives.
inline constexpr duration attempt_period = std::chrono::seconds(1);

/// Who claims a folder.
struct claimant {
    std::string job = job_of_process();  // the same for all ranks and restarts of a job
    /// The process that writes.
    sotto::detail::process_identity process = sotto::detail::process_identity::own();
    std::string claim = random_name();      // this one, among others of the process
    std::optional<std::uint64_t> folder{};  // its number on its disk, once it is claimed

    friend bool operator==(const claimant&, const claimant&) = default;

    /// For messages.
    std::string text() const;
};

inline constexpr std::string_view owner_format = "sotto.folder_owner";

/// The content of the file: a line for each field. Texts are escaped: a line stays a line.
std::string owner_text(const claimant& who);

/// Nothing for a text that owner_text did not write, or that is cut off. Earlier versions wrote no
/// number of the folder.
std::optional<claimant> read_owner(std::string_view text);

/// Whether a text was never meant to name an owner. A crash may leave one that is cut off or zeros.
bool is_foreign(std::string_view text) noexcept;

/// The claims of this process under which it trains at this moment.
class claims_in_use {
public:
    static void set(const std::string& claim, bool in_use);
    static bool has(const std::string& claim);

private:
    static std::mutex& mutex();
    static std::set<std::string>& all();
};

/// What came of an attempt to own a folder.
///   held     it is this one's now
///   waits    it is not known yet whether its owner lives: try again
///   refused  another one owns it and lives, or this user may not write there
///   failed   the disk failed: it is owned by nobody, as far as this one knows
enum class ownership : std::uint8_t { held, waits, refused, failed };

/// The right to write into a folder, whatever files it is reached by.
class folder_claim {
public:
    folder_claim() = default;
    folder_claim(const folder_claim&) = delete;
    folder_claim& operator=(const folder_claim&) = delete;
    virtual ~folder_claim() = default;

    /// Tries to become the owner, without waiting for anybody; `why` names the one that is.
    virtual ownership attempt(std::string& why) = 0;
    /// Whether this process trains with it now: until then another trainer of it may take it over.
    virtual void use(bool in_use) = 0;
    /// Why nothing may be written; empty: this one owns the folder. Called by a writer that has
    /// locked the folder. What was lost stays lost until the next attempt.
    virtual std::string problem() = 0;
};

/// Owns a folder, so that no two jobs write into it, from an attempt that succeeds until its end.
/// The file `checkpoints.owner` in the folder names the owner. A thread renews the claim every 10
/// s, whatever the program does meanwhile; that sets the file's time of change.
///
/// The folder of another owner is taken over at once if that owner has ended, which is known of
/// processes of the same machine and container. The same job takes it over at once, too, as after a
/// restart on another host. If the owner's process is known to run, its own job may do so only if
/// the owner has not renewed its claim for 60 s. Otherwise the folder is taken over after 60 s
/// without a renewal. Both times of that are by the clock of the disk, so that hosts need no common
/// time. If that clock jumps, or another job's process is known to run, the claimant has to see the
/// 60 s pass itself, by its own clock.
///
/// A claim names the number that the disk gave the folder. In a copy of the folder a claim of an
/// owner on this host is void. One of another host is not: some disks number a folder differently
/// on each host.
///
/// An owner that was halted for longer finds its claim replaced, and writes nothing any more. A
/// writer looks for that before it writes and before its file appears. A claim that was removed, as
/// with everything in the folder, is made again.
///
/// The folder's lock keeps claimants apart. Where a file system has none, as NFS for folders, a new
/// claim is still made by one host alone, since the file is created exclusively. Two that take
/// over an old claim within the same moment may then both believe to own it, until their next look.
///   wire    text, see detail::owner_text
///   cost    a thread that wakes up every 10 s, reads the file and sets its time
///   errors  io_failure: the thread cannot be started. What the disk does wrong is answered
class folder_owner final : public folder_claim {
public:
    /// How a process of a claim is looked at; for tests, too.
    using looks_at =
        std::function<sotto::detail::process_state(const sotto::detail::process_identity&)>;

    /// Of a folder that exists. Nothing is claimed yet.
    folder_owner(disk files, const std::filesystem::path& folder, claimant who = {},
                 looks_at look = sotto::detail::process_identity::state_of)
        : files_(std::move(files)),
          folder_(folder),
          path_(folder / owner_name),
          who_(std::move(who)),
          own_text_(owner_text(who_)),
          look_(std::move(look)) {}

    /// Gives the folder back. In a child of fork() it stays the parent's.
    ~folder_owner() override {
        if (!process_.is_this()) return;
        renewals_.reset();  // waits for one that has begun
        try {
            use(false);
            std::error_code why;
            if (is_owner_ && read(why) == own_text_) files_.remove(path_, why);
        } catch (...) {}  // the next claimant finds that this process has ended
    }

    ownership attempt(std::string& why) override {
        const std::lock_guard lock(mutex_);
        is_owner_ = false;
        lost_.clear();
        return try_to_own(why, false);
    }

    void use(bool in_use) override { claims_in_use::set(who_.claim, in_use); }

    std::string problem() override {
        const std::lock_guard lock(mutex_);
        std::string why = lost_;
        try {
            if (why.empty() && try_to_own(why, true) == ownership::held) why.clear();
        } catch (const io_failure& e) {  // no thread is left to renew it
            why = e.what();
        }
        return why;
    }

    /// Shows that the owner lives: called every 10 s.
    void renew() noexcept {
        try {
            const std::lock_guard lock(mutex_);
            if (!is_owner_ || !lost_.empty()) return;
            std::error_code why;
            const auto found = read(why);
            if (found == own_text_)
                files_.touch(path_, why);
            else if (found)
                lose(*found);
        } catch (...) {}  // the next one may succeed
    }

private:
    static constexpr std::size_t text_max = 4096;

    /// The content of the file; nothing, and no error, if there is none.
    std::optional<std::string> read(std::error_code& why) {
        const int file = files_.open(path_, why);
        if (why == std::errc::no_such_file_or_directory) why.clear();
        if (why || file < 0) return std::nullopt;
        std::string text(text_max, '\0');
        std::size_t size = 0;
        while (size < text.size()) {
            const auto rest = std::as_writable_bytes(std::span(text)).subspan(size);
            const auto got = files_.read(file, static_cast<std::int64_t>(size), rest, why);
            if (why || got <= 0) break;
            size += static_cast<std::size_t>(got);
        }
        std::error_code ignored;
        files_.close(file, ignored);
        if (why) return std::nullopt;
        text.resize(size);
        return text;
    }

    /// `is_locked`: the caller has locked the folder.
    ownership try_to_own(std::string& why, bool is_locked) {
        std::error_code problem;
        const std::optional<std::string> found = read(problem);
        if (sotto::detail::is_no_regular_file(problem))
            return why = cannot("read", problem) + ": move it away", ownership::refused;
        if (problem) return fail("read", problem, why);
        if (found != own_text_) {
            if (found && is_owner_) {  // this one has been taken for dead
                lose(*found);
                why = lost_;
                return ownership::refused;
            }
            ownership now = found ? judge(*found, why) : ownership::held;
            if (now == ownership::held) now = take(found, why, is_locked);
            if (now != ownership::held) return now;
        }
        is_owner_ = true;
        if (!renewals_) renewals_ = files_.every(renewal_period, [this] { renew(); });
        return ownership::held;
    }

    void lose(const std::string& to) {
        const auto owner = read_owner(to);
        lost_ = "the folder '" + folder_.string() + "' was taken over by " +
                (owner ? owner->text() : "another job");
    }

    /// A folder that this user may not write into is refused: no later attempt could succeed.
    ownership fail(const char* what, std::error_code problem, std::string& why) const {
        why = cannot(what, problem);
        const bool is_forbidden = problem == std::errc::permission_denied ||
                                  problem == std::errc::operation_not_permitted ||
                                  problem == std::errc::read_only_file_system;
        return is_forbidden ? ownership::refused : ownership::failed;
    }

    std::string cannot(const char* what, std::error_code problem) const {
        return std::string("cannot ") + what + " '" + path_.string() + "': " + problem.message();
    }

    /// Whether what is there can be taken over: answers `held` then.
    ownership judge(const std::string& text, std::string& why) {
        using sotto::detail::process_state;
        if (is_foreign(text)) {
            why = "'" + path_.string() +
                  "' is no file of sotto's, but has the name of one: move it away";
            return ownership::refused;
        }
        const auto owner = read_owner(text);  // none: it is cut off
        const std::string whose = "the folder '" + folder_.string() + "' belongs to " +
                                  (owner ? owner->text() : "a job that has only begun to claim it");
        if (owner && is_of_copied_folder(*owner)) return ownership::held;
        const auto refuse = [&](const std::string& how) {
            seen_.reset();
            why = whose + how +
                  "; give each job a folder of its own, or end that one before this one begins";
            return ownership::refused;
        };
        if (owner && owner->process.id == who_.process.id && claims_in_use::has(owner->claim))
            return refuse(", which is this one, and trains with it in another trainer");
        if (owner && owner->process == who_.process && !who_.process.boot.empty())
            return ownership::held;
        process_state state = process_state::unknown;
        if (owner) state = look_(owner->process);
        if (state == process_state::ended) return ownership::held;
        std::error_code problem;
        const auto changed = files_.changed(path_, problem);
        if (problem) return why = cannot("look at", problem), ownership::failed;
        const auto now = files_.disk_now(folder_, problem);
        const bool knows_age = !problem && now >= changed;
        const bool is_old = knows_age && now - changed >= renewal_max;
        if (state == process_state::runs && knows_age && !is_old)
            return refuse(", which runs on this host");
        if (owner && owner->job == printable(who_.job) && (state != process_state::runs || is_old))
            return ownership::held;
        if (state == process_state::unknown && is_old) return ownership::held;
        // Only time can tell.
        if (!seen_ || seen_->text != text) seen_ = {text, changed, files_.now()};
        if (seen_->changed != changed)
            return refuse(", which is alive: it has just renewed its claim");
        const duration waited = files_.now() - seen_->since;
        if (waited >= renewal_max) return ownership::held;
        const duration silent = knows_age && !is_old ? (std::max)(waited, now - changed) : waited;
        why =
            whose + "; if that job does not renew its claim within " +
            std::to_string(std::chrono::ceil<std::chrono::seconds>(renewal_max - silent).count()) +
            " s, the folder is this one's";
        return ownership::waits;
    }

    /// Whether a claim of an owner on this host is of another folder: this one is a copy of that.
    bool is_of_copied_folder(const claimant& owner) {
        if (!owner.folder || owner.process.boot.empty() ||
            owner.process.boot != printable(who_.process.boot))
            return false;
        std::error_code problem;
        const std::uint64_t here = files_.identity(folder_, problem);
        return !problem && here != *owner.folder;
    }

    /// Takes the place of what was found there.
    ownership take(const std::optional<std::string>& before, std::string& why, bool is_locked) {
        std::error_code problem;
        int lock = -1;
        if (!is_locked) {
            lock = files_.lock(folder_, problem);
            if (problem == std::errc::resource_unavailable_try_again) return is_busy(why);
            if (problem) return fail("lock the folder of", problem, why);
        }
        busy_since_.reset();
        const ownership ended = take_locked(before, why);
        if (!is_locked) files_.unlock(lock);
        return ended;
    }

    ownership is_busy(std::string& why) {
        why = "another process is writing into the folder '" + folder_.string() + "'";
        if (!busy_since_) busy_since_ = files_.now();
        return files_.now() - *busy_since_ < renewal_max ? ownership::waits : ownership::refused;
    }

    ownership take_locked(const std::optional<std::string>& before, std::string& why) {
        std::error_code problem;
        who_.folder = files_.identity(folder_, problem);
        if (problem) return why = cannot("look at the folder of", problem), ownership::failed;
        own_text_ = owner_text(who_);
        const auto is_outrun = [&] {
            why = "another job claims the folder '" + folder_.string() + "' at the same time";
            return ownership::waits;
        };
        if (before) {
            if (read(problem) != before && !problem) return is_outrun();
            if (!problem) files_.remove(path_, problem);
            if (problem && problem != std::errc::no_such_file_or_directory)
                return fail("replace", problem, why);
        }
        const int file = files_.create_new(path_, problem);
        if (problem == std::errc::file_exists) return is_outrun();
        if (problem) return fail("create", problem, why);
        byte_view rest = std::as_bytes(std::span<const char>(own_text_));
        while (!rest.empty() && !problem) {
            const auto taken = files_.write(file, rest, problem);
            if (!problem && taken <= 0) problem = std::make_error_code(std::errc::io_error);
            if (!problem) rest = rest.subspan(static_cast<std::size_t>(taken));
        }
        std::error_code closing;
        files_.close(file, closing);
        if (!problem) problem = closing;
        if (problem) {
            files_.remove(path_, closing);
            return why = cannot("write", problem), ownership::failed;
        }
        if (read(problem) != own_text_) {
            if (problem) return why = cannot("read", problem), ownership::failed;
            return is_outrun();
        }
        return ownership::held;
    }

    struct sighting {
        std::string text;
        std::chrono::nanoseconds changed{};
        time_point since{};
    };

    disk files_;
    std::filesystem::path folder_, path_;
    claimant who_;
    std::string own_text_;
    looks_at look_;
    sotto::detail::owner_process process_;
    std::mutex mutex_;                      // of all below
    bool is_owner_ = false;                 // unless it is lost
    std::string lost_;                      // who took it over, in a sentence
    std::optional<sighting> seen_;          // of another one's claim
    std::optional<time_point> busy_since_;  // another one has the folder locked
    std::shared_ptr<void> renewals_;
};

/// Repeats an attempt to own a folder once a second, as long as `attempt` returns true: it is not
/// known yet whether the folder's owner lives. `pauses`: whether this process waits between two
/// attempts. A process that only takes part in an attempt waits within it. Each attempt must send
/// messages or votes to the processes that wait for this one: else they count it as late.
template <class Attempt>
void attempt_each_second(const disk& files, bool pauses, Attempt attempt) {
    while (attempt())
        if (pauses) files.pause(attempt_period);
}

/// Why no checkpoint may be written into a folder; empty: one may. `known` are the steps of all
/// checkpoints that this run has read or written there: any other is of another run, which came
/// without a claim, and would be removed.
inline std::string why_not_write(const disk& files, const std::filesystem::path& folder, folder_claim& owner,
                          std::span<const std::int64_t> known) {
    if (std::string why = owner.problem(); !why.empty()) return why;
    std::error_code problem;
    const auto other = foreign_generation(files, folder, known, problem);
    if (problem) return "cannot list '" + folder.string() + "': " + problem.message();
    if (!other) return {};
    return "the folder '" + folder.string() + "' holds " + file_name(*other) +
           ", which another run wrote meanwhile; move it away, and give each run a folder of its "
           "own";
}

/// After an attempt to write a checkpoint of this step: it is known, and the ones that were removed
/// are not any more.
inline void note_written(const disk& files, const std::filesystem::path& folder, std::int64_t step,
                  std::vector<std::int64_t>& known) {
    known.push_back(step);
    std::error_code problem;
    const auto there = generations(files, folder, problem);
    if (problem) return;
    std::erase_if(known,
                  [&](std::int64_t one) { return std::ranges::find(there, one) == there.end(); });
}

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/folder_owner.ipp"
#endif
