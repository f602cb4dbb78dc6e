#pragma once

#include <doctest/doctest.h>

#include <clocale>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <locale>
#include <string>

#include <unistd.h>

namespace sotto::testing {

/// While it lives, the C and C++ locales of this process write 0.5 as "0,5", where the system has
/// such a locale or can compile one.
class decimal_comma {
public:
    decimal_comma() {
        for (const char* const name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"})
            if (set(name)) return;
        folder_ =
            std::filesystem::temp_directory_path() / ("sotto_locale_" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
        const std::string compile = "localedef --no-archive -i de_DE -f UTF-8 '" +
                                    (folder_ / "de_DE.UTF-8").string() + "' >/dev/null 2>&1";
        if (std::system(compile.c_str()) == 0) {
            ::setenv("LOCPATH", folder_.c_str(), 1);
            if (set("de_DE.UTF-8")) return;
        }
        MESSAGE("skipped: the system has no locale with a decimal comma");
    }
    ~decimal_comma() {
        std::locale::global(std::locale::classic());
        std::setlocale(LC_ALL, "C");
        if (folder_.empty()) return;
        ::unsetenv("LOCPATH");
        std::filesystem::remove_all(folder_);
    }
    decimal_comma(const decimal_comma&) = delete;
    decimal_comma& operator=(const decimal_comma&) = delete;

    bool is_set() const noexcept { return is_set_; }

private:
    bool set(const char* name) {
        try {
            std::locale::global(std::locale(name));
        } catch (const std::exception&) {
            return false;
        }
        return is_set_ = *std::localeconv()->decimal_point == ',';
    }

    bool is_set_ = false;
    std::filesystem::path folder_;
};

}  // namespace sotto::testing
