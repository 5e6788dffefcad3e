/* What is missing is named before anything is compiled: one line each, with what to install. */
#include "tests/folder.h"
#include "tests/program.h"
#include "tests/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* A make whose pkg-config is `tool`, which looks for libraries in an empty folder. */
static void make_without(struct program *program, const struct folder *folder, const char *tool)
{
    char command[2048];
    snprintf(
        command, sizeof command,
        "unset MAKEFLAGS MFLAGS MAKELEVEL; export PKG_CONFIG_LIBDIR=\"$PWD\" PKG_CONFIG_PATH=; "
        "make -s -j2 -C '%s' BUILD=\"$PWD/b\" PKG_CONFIG='%s' all; code=$?; "
        "test ! -e b/objects || echo compiled; exit $code",
        SOURCE_DIR, tool);
    program_run(program, folder->path, command);
}

START_TEST(a_missing_pkg_config_is_named_before_compiling)
{
    struct folder folder;
    struct program program;
    folder_open(&folder);
    make_without(&program, &folder, "./no-such-tool");
    ck_assert_int_ne(program.code, 0);
    ck_assert_msg(strstr(program.err, "pkg-config is missing: install") != NULL, "%s", program.err);
    ck_assert_ptr_null(strstr(program.err, "yntax error"));
    ck_assert_str_eq(program.out, "");
    program_close(&program);
    folder_close(&folder);
}
END_TEST

START_TEST(missing_libraries_are_named_before_compiling_each_in_one_line)
{
    static const char *const names[] = {
        "OpenBLAS is missing: ", "libuv is missing: ", "zlib is missing: ", "jansson is missing: "};
    struct folder folder;
    struct program program;
    folder_open(&folder);
    make_without(&program, &folder, "pkg-config");
    ck_assert_int_ne(program.code, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_msg(strstr(program.err, names[i]) != NULL, "%s", program.err);
    ck_assert_ptr_nonnull(strstr(program.err, "OPENBLAS_LIBS")); // and how to say where it is
    ck_assert_str_eq(program.out, "");
    program_close(&program);
    folder_close(&folder);
}
END_TEST

Suite *install_suite(void)
{
    Suite *suite = suite_create("install");
    TCase *tcase = tcase_create("install");
    tcase_add_test(tcase, a_missing_pkg_config_is_named_before_compiling);
    tcase_add_test(tcase, missing_libraries_are_named_before_compiling_each_in_one_line);
    suite_add_tcase(suite, tcase);
    return suite;
}
