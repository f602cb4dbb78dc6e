#pragma once

#include "sotto/checkpoint/detail/folder_owner.hpp"

#include <algorithm>
#include <utility>

#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/file_kind.hpp"
#include "sotto/core/detail/text/number_text.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/printable.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL std::string claimant::text() const {
    return "job '" + job + "' (process " + std::to_string(process.id) + " on host '" +
           process.host + "')";
}

SOTTO_DECL std::string owner_text(const claimant& who) {
    std::string text = std::string(owner_format) + " 1\n";
    const auto line = [&](const char* name, const std::string& value) {
        text.append(name).append(" = ").append(printable(value)).append("\n");
    };
    line("job", who.job);
    line("claim", who.claim);
    line("host", who.process.host);
    line("boot", who.process.boot);
    line("pid_namespace", std::to_string(who.process.pid_namespace));
    line("process", std::to_string(who.process.id));
    line("started", std::to_string(who.process.started));
    if (who.folder) line("folder", std::to_string(*who.folder));
    return text;
}

SOTTO_DECL std::optional<claimant> read_owner(std::string_view text) {
    claimant who{{}, {}, {}};
    if (!text.starts_with(owner_format) || text.back() != '\n') return std::nullopt;
    std::size_t found = 0;
    text.remove_prefix(text.find('\n') + 1);
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(line.size() + 1);
        const std::size_t at = line.find(" = ");
        if (at == line.npos) return std::nullopt;
        const std::string_view name = line.substr(0, at), value = line.substr(at + 3);
        ++found;
        if (name == "job")
            who.job = value;
        else if (name == "claim")
            who.claim = value;
        else if (name == "host")
            who.process.host = value;
        else if (name == "boot")
            who.process.boot = value;
        else if (name == "pid_namespace" ? !read_number(value, who.process.pid_namespace)
                 : name == "process"     ? !read_number(value, who.process.id)
                 : name == "started"     ? !read_number(value, who.process.started)
                 : name == "folder"      ? !read_number(value, who.folder.emplace())
                                         : true)
            return std::nullopt;
    }
    return found == (who.folder ? 8u : 7u) ? std::optional(who) : std::nullopt;
}

SOTTO_DECL bool is_foreign(std::string_view text) noexcept {
    return !text.starts_with(owner_format) && !owner_format.starts_with(text) &&
           text.find_first_not_of('\0') != text.npos;
}

SOTTO_DECL void claims_in_use::set(const std::string& claim, bool in_use) {
    const std::lock_guard lock(mutex());
    if (in_use)
        all().insert(claim);
    else
        all().erase(claim);
}

SOTTO_DECL bool claims_in_use::has(const std::string& claim) {
    const std::lock_guard lock(mutex());
    return all().count(claim) != 0;
}

SOTTO_DECL std::mutex& claims_in_use::mutex() {
    static std::mutex instance;
    return instance;
}

SOTTO_DECL std::set<std::string>& claims_in_use::all() {
    static std::set<std::string> instance;
    return instance;
}

SOTTO_DECL folder_owner::folder_owner(disk files, const std::filesystem::path& folder, claimant who,
                                      looks_at look)
    : files_(std::move(files)),
      folder_(folder),
      path_(folder / owner_name),
      who_(std::move(who)),
      own_text_(owner_text(who_)),
      look_(std::move(look)) {}

SOTTO_DECL folder_owner::~folder_owner() {
    if (!process_.is_this()) return;
    renewals_.reset();  // waits for a renewal that has begun
    try {
        use(false);
        std::error_code why;
        if (is_owner_ && read(why) == own_text_) files_.remove(path_, why);
    } catch (...) {}  // the next claimant detects that this process has ended
}

SOTTO_DECL ownership folder_owner::attempt(std::string& why) {
    const std::lock_guard lock(mutex_);
    is_owner_ = false;
    lost_.clear();
    return try_to_own(why, false);
}

SOTTO_DECL std::string folder_owner::problem() {
    const std::lock_guard lock(mutex_);
    std::string why = lost_;
    try {
        if (why.empty() && try_to_own(why, true) == ownership::held) why.clear();
    } catch (const io_failure& e) {  // the thread that renews the claim cannot be started
        why = e.what();
    }
    return why;
}

SOTTO_DECL void folder_owner::renew() noexcept {
    try {
        const std::lock_guard lock(mutex_);
        if (!is_owner_ || !lost_.empty()) return;
        std::error_code why;
        const auto found = read(why);
        if (found == own_text_)
            files_.touch(path_, why);
        else if (found)
            lose(*found);
    } catch (...) {}  // the next renewal may succeed
}

SOTTO_DECL std::optional<std::string> folder_owner::read(std::error_code& why) {
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

SOTTO_DECL ownership folder_owner::try_to_own(std::string& why, bool is_locked) {
    std::error_code problem;
    const std::optional<std::string> found = read(problem);
    if (sotto::detail::is_no_regular_file(problem))
        return why = cannot("read", problem) + ": move it away", ownership::refused;
    if (problem) return fail("read", problem, why);
    if (found != own_text_) {
        if (found && is_owner_) {  // another claimant considered this owner dead
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

SOTTO_DECL void folder_owner::lose(const std::string& to) {
    const auto owner = read_owner(to);
    lost_ = "the folder '" + folder_.string() + "' was taken over by " +
            (owner ? owner->text() : "another job");
}

SOTTO_DECL ownership folder_owner::fail(const char* what, std::error_code problem,
                                        std::string& why) const {
    why = cannot(what, problem);
    const bool is_forbidden = problem == std::errc::permission_denied ||
                              problem == std::errc::operation_not_permitted ||
                              problem == std::errc::read_only_file_system;
    return is_forbidden ? ownership::refused : ownership::failed;
}

SOTTO_DECL std::string folder_owner::cannot(const char* what, std::error_code problem) const {
    return std::string("cannot ") + what + " '" + path_.string() + "': " + problem.message();
}

SOTTO_DECL ownership folder_owner::judge(const std::string& text, std::string& why) {
    using sotto::detail::process_state;
    if (is_foreign(text)) {
        why =
            "'" + path_.string() + "' is no file of sotto's, but has the name of one: move it away";
        return ownership::refused;
    }
    const auto owner = read_owner(text);  // none if the text is truncated
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
    // The clocks and the process state do not decide: measure the time here.
    if (!seen_ || seen_->text != text) seen_ = {text, changed, files_.now()};
    if (seen_->changed != changed) return refuse(", which is alive: it has just renewed its claim");
    const duration waited = files_.now() - seen_->since;
    if (waited >= renewal_max) return ownership::held;
    const duration silent = knows_age && !is_old ? (std::max)(waited, now - changed) : waited;
    why = whose + "; if that job does not renew its claim within " +
          std::to_string(std::chrono::ceil<std::chrono::seconds>(renewal_max - silent).count()) +
          " s, the folder is this one's";
    return ownership::waits;
}

SOTTO_DECL bool folder_owner::is_of_copied_folder(const claimant& owner) {
    if (!owner.folder || owner.process.boot.empty() ||
        owner.process.boot != printable(who_.process.boot))
        return false;
    std::error_code problem;
    const std::uint64_t here = files_.identity(folder_, problem);
    return !problem && here != *owner.folder;
}

SOTTO_DECL ownership folder_owner::take(const std::optional<std::string>& before, std::string& why,
                                        bool is_locked) {
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

SOTTO_DECL ownership folder_owner::is_busy(std::string& why) {
    why = "another process is writing into the folder '" + folder_.string() + "'";
    if (!busy_since_) busy_since_ = files_.now();
    return files_.now() - *busy_since_ < renewal_max ? ownership::waits : ownership::refused;
}

SOTTO_DECL ownership folder_owner::take_locked(const std::optional<std::string>& before,
                                               std::string& why) {
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

SOTTO_DECL std::string why_not_write(const disk& files, const std::filesystem::path& folder,
                                     folder_claim& owner, std::span<const std::int64_t> known) {
    if (std::string why = owner.problem(); !why.empty()) return why;
    std::error_code problem;
    const auto other = foreign_generation(files, folder, known, problem);
    if (problem) return "cannot list '" + folder.string() + "': " + problem.message();
    if (!other) return {};
    return "the folder '" + folder.string() + "' holds " + file_name(*other) +
           ", which another run wrote meanwhile; move it away, and give each run a folder of its "
           "own";
}

SOTTO_DECL void note_written(const disk& files, const std::filesystem::path& folder,
                             std::int64_t step, std::vector<std::int64_t>& known) {
    known.push_back(step);
    std::error_code problem;
    const auto there = generations(files, folder, problem);
    if (problem) return;
    std::erase_if(known,
                  [&](std::int64_t one) { return std::ranges::find(there, one) == there.end(); });
}

}  // namespace sotto::detail::checkpoint
