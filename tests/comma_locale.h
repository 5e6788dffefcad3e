/*
 * comma_locale: a locale that writes one half as 0,5, for tests that it changes nothing.
 *
 * Takes an installed one, or makes one with localedef in a temporary folder. False where there is
 * neither: then the test tests nothing, and says so.
 */
#ifndef TESTS_COMMA_LOCALE_H
#define TESTS_COMMA_LOCALE_H

#include <stdbool.h>

/* LC_NUMERIC has a comma from here on. */
bool comma_locale_enter(void);

/* Back to the plain one. */
void comma_locale_leave(void);

#endif
