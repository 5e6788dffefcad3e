/* comma_locale: a locale that writes one half as 0,5. See the header. */
#include "tests/comma_locale.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_comma(void)
{
    return strcmp(localeconv()->decimal_point, ",") == 0;
}

/* The C library reads a locale once and keeps it: the folder is needed only until then. */
static bool make(void)
{
    char folder[256], command[1024];
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/locale-XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(folder))
        return false;
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s/comma.UTF-8' >'%s/log' 2>&1",
             folder, folder);
    int made = system(command);
    char before[512] = "";
    const char *set = getenv("LOCPATH");
    snprintf(before, sizeof before, "%s", set ? set : "");
    setenv("LOCPATH", folder, 1);
    bool entered = made == 0 && setlocale(LC_NUMERIC, "comma.UTF-8") && has_comma();
    if (set)
        setenv("LOCPATH", before, 1);
    else
        unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command) == 0 && entered;
}

bool comma_locale_enter(void)
{
    static const char *const installed[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
                                            "fr_FR.utf8", "es_ES.UTF-8"};
    for (size_t i = 0; i < sizeof installed / sizeof *installed; i++)
        if (setlocale(LC_NUMERIC, installed[i]) && has_comma())
            return true;
    bool entered = make();
    if (!entered)
        fprintf(stderr, "no locale with a decimal comma: its test tests nothing here\n");
    return entered;
}

void comma_locale_leave(void)
{
    setlocale(LC_NUMERIC, "C");
}
