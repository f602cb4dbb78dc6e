#pragma once

#include "sotto/checkpoint/detail/folder_owner.hpp"

#include "sotto/core/config.hpp"

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
    const auto number = [](std::string_view value, auto& into) {
        const auto [end, why] = std::from_chars(value.data(), value.data() + value.size(), into);
        return why == std::errc() && end == value.data() + value.size();
    };
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
        else if (name == "pid_namespace" ? !number(value, who.process.pid_namespace)
                 : name == "process"     ? !number(value, who.process.id)
                 : name == "started"     ? !number(value, who.process.started)
                 : name == "folder"      ? !number(value, who.folder.emplace())
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

}  // namespace sotto::detail::checkpoint
