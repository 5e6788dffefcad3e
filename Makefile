# From SGD to ZeRO: four lessons, one staircase. `make help` lists the targets.
#
# What you may set, as in `make BUILD=/tmp/b CC=clang CFLAGS="-O0 -g"`. V=1 shows the commands.
# MPI=1 builds the lessons for mpirun, with mpicc around CC, into a folder of its own.
OVER_MPI := $(filter 1,$(MPI))
MPIRUN ?= mpirun
BUILD ?= $(if $(OVER_MPI),build/mpi,build)
CFLAGS ?= -O3 -g
# For lesson01 .. lesson04: how many ranks, and the program's flags. For test and fuzz: which.
NP ?= 4
ARGS ?=
SUITE ?=
# For fuzz: how long each target.
FUZZ_SECONDS ?= 30

# A library is found by pkg-config (PKG_CONFIG_PATH is honoured), unless its flags are given here.
# Homebrew keeps two of them off the usual path.
PKG_CONFIG ?= pkg-config
ifeq ($(shell uname -s),Darwin)
export PKG_CONFIG_PATH := $(PKG_CONFIG_PATH):$(shell brew --prefix openblas)/lib/pkgconfig:$(shell brew --prefix zlib)/lib/pkgconfig
endif
found = $(shell PKG_CONFIG_PATH='$(PKG_CONFIG_PATH)' $(PKG_CONFIG) $(1) 2>/dev/null)
OPENBLAS_CFLAGS ?= $(call found,--cflags openblas)
OPENBLAS_LIBS   ?= $(call found,--libs openblas)
LIBUV_CFLAGS    ?= $(call found,--cflags libuv)
LIBUV_LIBS      ?= $(call found,--libs libuv)
ZLIB_CFLAGS     ?= $(call found,--cflags zlib)
ZLIB_LIBS       ?= $(call found,--libs zlib)
JANSSON_CFLAGS  ?= $(call found,--cflags jansson)
JANSSON_LIBS    ?= $(call found,--libs jansson)
CHECK_CFLAGS    ?= $(call found,--cflags check)
CHECK_LIBS      ?= $(call found,--libs check)

# -ffp-contract=off: a * b + c is rounded twice everywhere, so that equal orders give equal bits.
# -fno-math-errno: nobody reads errno after a square root, and without it the loop around one vectorises.
# Warnings are errors in CI only: a newer compiler's new warning stops no student.
WARN = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
       $(if $(CI),-Werror)

INCLUDE := $(OPENBLAS_CFLAGS) $(LIBUV_CFLAGS) $(ZLIB_CFLAGS) $(JANSSON_CFLAGS) $(CHECK_CFLAGS)
LIBS := $(OPENBLAS_LIBS) $(LIBUV_LIBS) $(ZLIB_LIBS) $(JANSSON_LIBS) -lm -pthread
# SOURCE_DIR: where the digits are, for programs that stand elsewhere than in this tree.
FLAGS = -std=gnu11 -ffp-contract=off -fno-math-errno -fno-strict-aliasing -pthread -I. $(WARN) $(INCLUDE) -DSOURCE_DIR='"$(CURDIR)"' \
        -DTRANSPORT='"$(if $(OVER_MPI),mpi,tcp)"' $(CPPFLAGS) $(CFLAGS)
# The wrappers of Open MPI and MPICH heed which compiler they are to wrap.
ifneq ($(OVER_MPI),)
export OMPI_CC = $(CC)
export MPICH_CC = $(CC)
endif
COMPILE = $(if $(OVER_MPI),mpicc,$(CC)) $(FLAGS)
QUIETLY = @$(if $(V),set -x;,echo '  $@';)

# What there is: every .c file of a room. Those with a main() become programs, the rest a library.
LESSONS = lesson01_single lesson02_allreduce lesson03_ddp lesson04_zero
MAINS = common/course/main.c common/doctor/main.c common/report/main.c common/launch.c common/verify.c common/consolidate.c common/handbook.c lesson02_allreduce/deadlock.c lesson03_ddp/lab_buckets.c $(LESSONS:%=%/main.c)
PROGRAMS = $(patsubst %,$(BUILD)/%,$(LESSONS) verify doctor report consolidate handbook tasks $(if $(OVER_MPI),,launch deadlock lab_buckets))
# What bytes travel by: sockets, or MPI. A build has one of them; all else is the same.
SOCKETS = $(patsubst %,lesson02_allreduce/%.c,link stream address rendezvous door caller host meeting join_guest join_host)
NOT_BUILT = $(if $(OVER_MPI),$(SOCKETS),$(wildcard lesson02_allreduce/mpi_*.c))
# entry.c is compiled once for each target beside it, and belongs to no other program.
SOURCES := $(filter-out tests/fuzz/entry.c $(NOT_BUILT),$(wildcard common/*.c common/*/*.c lesson0*/*.c tests/*.c tests/fuzz/*.c tests/browser/*.c tests/grade/*.c))
OBJECTS = $(SOURCES:%.c=$(BUILD)/objects/%.o)
BROWSING = $(filter $(BUILD)/objects/tests/browser/%,$(OBJECTS))
GRADING = $(filter $(BUILD)/objects/tests/grade/%,$(OBJECTS))
TESTS = $(filter-out $(BROWSING) $(GRADING),$(filter $(BUILD)/objects/tests/%,$(OBJECTS)))
# The tests' tools without the tests: the grader's, which has an unwritten.c of its own.
TOOLS = $(filter-out %/run.o $(BUILD)/objects/tests/unwritten.o $(BUILD)/objects/tests/test_%,$(filter-out $(FUZZING),$(TESTS)))
FUZZING = $(filter $(BUILD)/objects/tests/fuzz/%,$(OBJECTS))
FUZZERS = $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
LIBRARY = $(filter-out $(TESTS) $(BROWSING) $(GRADING) $(MAINS:%.c=$(BUILD)/objects/%.o),$(OBJECTS))

# What must be installed: to build, to test, to lint.
TO_BUILD = compiler pkg-config openblas libuv zlib jansson $(if $(OVER_MPI),mpi)
TO_TEST = $(TO_BUILD) check git
TO_LINT = $(TO_TEST) mpi clang clang-format clang-tidy shellcheck
TO_FUZZ = $(TO_BUILD) clang libfuzzer
TESTING = $(filter test check-starter todo-lists grade check-grader check-page $(BUILD)/check,$(MAKECMDGOALS))

JOBS := $(shell getconf _NPROCESSORS_ONLN)
# Make itself once more, after what was missing has come: with as many jobs as there are cores, unless told.
AGAIN = @+$(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))

ifneq ($(and $(OVER_MPI),$(filter-out all lesson% clean $(BUILD)/%,$(MAKECMDGOALS))),)
$(error MPI=1 builds and runs the lessons (make MPI=1, make MPI=1 lesson02); all else is without it, also make check-mpi)
endif

all: $(PROGRAMS) ## build every program (MPI=1: for mpirun, into build/mpi)

# --- the lessons ---

lesson01: $(BUILD)/lesson01_single ## SGD in one process (ARGS="--epochs 5"; --help shows all)
	$< $(ARGS)

lesson02: $(BUILD)/lesson02_allreduce ## a ring all-reduce, by hand (NP=4 ranks, ARGS as above)
lesson03: $(BUILD)/lesson03_ddp ## buckets, sent while backward still runs (NP, ARGS)
lesson04: $(BUILD)/lesson04_zero ## state, gradients, parameters sharded (NP, ARGS="--stage 3")
lesson02 lesson03 lesson04: $(if $(OVER_MPI),,$(BUILD)/launch)
	$(if $(OVER_MPI),$(MPIRUN),$(BUILD)/launch) -n $(NP) $(filter $(BUILD)/$@%,$^) $(ARGS)

demo: ## install, build, run all four lessons on digits, 2 to 4 with 4 ranks, and sum up
	@sh common/install.sh install $(TO_BUILD)
	$(AGAIN) all
	@sh common/demo.sh $(BUILD)

bench: $(BUILD)/lesson01_single $(BUILD)/lesson02_allreduce $(BUILD)/launch ## measure this machine
	$(BUILD)/lesson01_single --bench
	$(BUILD)/launch -n 2 $(BUILD)/lesson02_allreduce --bench

lab-deadlock: $(BUILD)/deadlock ## from which size on do two blocking sends wait for ever?
	$<

lab-rate: all ## what a larger batch does to the loss, and --lr-scale
	@sh lesson03_ddp/lab_rate.sh $(BUILD)

lab-buckets: $(BUILD)/lab_buckets $(BUILD)/launch ## how large should a bucket be? (LINKS="plain 50mbit,1ms" WORLDS="2 4")
	@sh lesson03_ddp/lab_buckets.sh $(BUILD)

lab-memory: all ## what a rank keeps and sends, for lesson 3 and every stage (NP=4 WIDTH=512 LAYERS=8)
	@NP=$(NP) sh lesson04_zero/lab_memory.sh $(BUILD)

lab-limit: all ## the widest network under LIMIT=64 MiB a rank, for lesson 3 and every stage
	@NP=$(NP) sh lesson04_zero/lab_memory.sh $(BUILD) limit

lab-compress: $(BUILD)/lesson03_ddp $(BUILD)/launch ## when do half the bytes pay, and when does error feedback show?
	@sh lesson03_ddp/lab_compress.sh $(BUILD)

lab-profile: $(BUILD)/lesson01_single $(BUILD)/lesson03_ddp $(BUILD)/launch ## where does an update's time go? (WORLDS="1 2 4" FLAGS="--link 1gbit,1ms")
	@sh lesson03_ddp/lab_profile.sh $(BUILD)

lab-precision: $(BUILD)/lesson01_single ## what does a gradient lose in bf16 and fp16, and when does it matter?
	@sh lesson01_single/lab_precision.sh $(BUILD)

lab-record: $(BUILD)/lesson03_ddp $(BUILD)/launch ## how much longer does a run take with --record? (ROUNDS=9 WORLD=2)
	@sh common/lab_record.sh $(BUILD)

lab-odd-curves: all ## every well-known mistake beside the healthy run: plots, and a line each (MEMBERS="same-shard" WORLD=4)
	@sh common/lab_odd_curves.sh $(BUILD)

lab-guess: all ## records a run with a mistake in it and does not say which: find it (SEED=7 NP=4)
	@NP=$(NP) sh common/lab_guess.sh $(BUILD)

doctor-matrix: all ## every mistake planted, and what the doctor says (MEMBERS WORLDS OPTIMIZERS SEEDS PARTS="matrix clean pairs")
	@sh tests/doctor/matrix.sh $(BUILD)

handbook: $(BUILD)/handbook ## what common/zoo_table.c says of each mistake, put into docs/odd-curves.md
	$< docs/odd-curves.md > $(BUILD)/odd-curves.md && mv $(BUILD)/odd-curves.md docs/odd-curves.md

.PHONY: answers handin offline check-offline autograder texts
texts: $(BUILD)/tasks ## what the texts quote of the tree, written anew: contracts, line counts, tasks
	@sh common/course/texts.sh $(BUILD)

check-texts: ## every command of every text, run in a fresh copy of the tree and compared (TEXTS="lesson01_single/README.md")
	@sh common/install.sh install $(TO_BUILD)
	@sh tests/texts/check.sh $(TEXTS)

bench-peers: all ## against gloo, Open MPI and PyTorch (ROUNDS=5 WORLDS="2 4" PEERS OURS)
	@sh tests/peers/bench_peers.sh $(BUILD)
	@sh tests/peers/bench_train.sh $(BUILD)

report: $(BUILD)/report $(BUILD)/doctor ## the pictures of a recorded run, and one page (RUN=DIR [REFERENCE=DIR2])
	@sh common/install.sh install gnuplot
	@sh common/report/report.sh $(BUILD) "$$RUN" "$$REFERENCE"

diffs: ## what each lesson adds: its main.c against the one before
	@diff -u lesson01_single/main.c lesson02_allreduce/main.c || [ $$? = 1 ]
	@diff -u lesson02_allreduce/main.c lesson03_ddp/main.c || [ $$? = 1 ]
	@diff -u lesson03_ddp/main.c lesson04_zero/main.c || [ $$? = 1 ]

data: ## install Fashion-MNIST, for ARGS="--data fashion-mnist"
	@sh common/install.sh install fashion-mnist

# --- the course ---

.PHONY: answers handin offline check-offline autograder starter
starter: ## a tree to write lesson 2's tasks in: LESSON=02 OUT=../mine (FROM=DIR: on your own earlier lessons)
	@sh common/course/starter.sh "$$LESSON" "$$OUT" "$$FROM"

hint: $(BUILD)/tasks ## how a task might be begun, from a nudge to almost the answer (TASK=02.4 STEP=2)
	@$< "$$TASK" "$$STEP"

check-starter: $(BUILD)/check ## in each starter exactly the listed tests wait, and none fails (ONLY="02 03.1")
	@sh tests/course/check_starter.sh $(BUILD) $(ONLY)

todo-lists: $(BUILD)/check ## write the lists of check-starter anew
	@sh tests/course/check_starter.sh $(BUILD) --write 1 2 3 4

grade: $(BUILD)/grade ## grade a lesson's tasks (LESSON=02 TASK=02.4 SEED=n FROM=dir JSON=file)
	@OPENBLAS_NUM_THREADS=1 sh tests/grade/grade.sh $(BUILD) "$(LESSON)"

check-grader: $(BUILD)/grade ## the grader's own test: the solution has 100 points, each mutant loses its own (MUTANT="02-name")
	@sh common/install.sh install git
	@OPENBLAS_NUM_THREADS=1 sh tests/grade/check_grader.sh $(BUILD) $(MUTANT)

answers: ## the sheet of a lesson's questions, its ANSWERS.md, to fill in (LESSON=02)
	@sh common/course/answers.sh "$(LESSON)"

handin: ## pack what is committed, with answers, machine and history (LESSON=02 [OUT=file.tar.gz])
	@sh common/course/handin.sh "$(LESSON)" $(if $(OUT),"$(OUT)")

autograder: ## what Gradescope or Autolab is given to grade a lesson (LESSON=02 FOR=gradescope OUT=file.zip; FOR=autolab OUT=dir)
	@sh tests/grade/upload/pack.sh "$(LESSON)" "$(FOR)" "$(OUT)"

offline: ## one archive for a room without network: a tree and Debian packages (TREE=dir OUT=file.tar EXTRA="fashion-mnist")
	@TREE="$(TREE)" EXTRA="$(EXTRA)" sh common/course/offline.sh $(if $(OUT),"$(OUT)")

check-offline: ## that archive on a bare Debian without a network (needs root, debootstrap, some minutes; else skips)
	@sh tests/offline/check_offline.sh

# --- the tests ---

check: ## install, build, run the whole test suite
	@sh common/install.sh install $(TO_TEST)
	$(AGAIN) $(BUILD)/check
	@sh common/check.sh plain $(BUILD)

test: $(BUILD)/check ## run some suites, or all (SUITE="ring comm")
	@sh common/check.sh plain $(BUILD) $(SUITE)

check-page: $(BUILD)/check_page all ## docs/ring.html in Chromium without a window, against the C code (skips where there is none)
	@sh tests/browser/check.sh $< docs/ring.html $(BUILD)

check-mpi: ## lessons 2 to 4 under mpirun, over MPI instead of sockets: same proofs, same bits
	@sh common/install.sh install $(TO_BUILD)
	@+if sh common/install.sh install mpi; then \
		$(MAKE) --no-print-directory all && \
		$(MAKE) --no-print-directory MPI=1 BUILD=$(BUILD)/mpi all $(BUILD)/mpi/mismatch && \
		sh tests/mpi/check_mpi.sh $(BUILD); \
	else echo "check-mpi: skipped: there is no mpicc and mpirun here"; fi

check-report: all ## the page of make report in headless Chromium, at a desktop's and a phone's width
	@if sh common/install.sh install gnuplot chromium python3; then sh tests/browser/check_report.sh $(BUILD); \
	else echo "check-report: skipped: there is no gnuplot, chromium or python3 here"; fi

# CI is not passed on: gcc's warnings about lengths are false alarms in code a sanitizer has changed.
# Of the largest tables of flags every third row is run: tests/watched.h. All of them are `make check`'s.
sanitize: ## the suite under ASan, LeakSanitizer and UBSan, then under TSan
	@sh common/install.sh install $(TO_TEST)
	$(AGAIN) CI= BUILD=$(BUILD)/asan CFLAGS="-O1 -g -fsanitize=address,undefined" $(BUILD)/asan/check
	@sh common/check.sh sanitize $(BUILD)/asan $(SUITE)
	$(AGAIN) CI= BUILD=$(BUILD)/tsan CFLAGS="-O1 -g -fsanitize=thread" $(BUILD)/tsan/check
	@sh common/check.sh sanitize $(BUILD)/tsan $(SUITE)

valgrind: ## memcheck on the suites of one process
	@sh common/install.sh install $(TO_TEST) valgrind
	$(AGAIN) $(BUILD)/check
	@sh common/check.sh valgrind $(BUILD) $(SUITE)

fuzz: ## readers of strangers' bytes under libFuzzer (FUZZ_SECONDS=30, SUITE="csv idx")
	@sh common/install.sh install $(TO_FUZZ)
	$(AGAIN) CI= CC=clang BUILD=$(BUILD)/fuzz CFLAGS="-O1 -g -fno-sanitize-recover=all -fsanitize=fuzzer-no-link,address,undefined" \
		$(FUZZERS:%=$(BUILD)/fuzz/fuzz_%)
	@sh common/fuzz.sh $(BUILD)/fuzz $(FUZZ_SECONDS) $(or $(SUITE),$(FUZZERS))

# --- the code ---

lint: ## install the tools; format, clang-tidy, floors, headers alone, shape, scripts
	@sh common/install.sh install $(TO_LINT)
	@JOBS=$(JOBS) sh common/lint.sh $(FLAGS)

floors: ## no include points up the stairs
	@sh common/floors.sh

format: ## lay every file out as .clang-format says
	@sh common/install.sh install clang-format
	clang-format -i $(wildcard common/*.[ch] common/*/*.[ch] lesson0*/*.[ch] tests/*.[ch] tests/fuzz/*.[ch] tests/browser/*.[ch] tests/grade/*.[ch] tests/shim/*.c tests/mpi/*.c tests/peers/*.c*)

compdb: export COMMAND = $(CC) $(FLAGS)
compdb: ## compile_commands.json, for editors
	@sh common/compdb.sh $(SOURCES) > compile_commands.json

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

clean: ## remove what was built
	rm -rf $(BUILD) compile_commands.json

# --- how a file is made ---

# Every object depends on this file. So nothing compiles before what is missing has been named, and
# everything compiles anew when the compiler or its flags change.
$(BUILD)/flags: export SETTINGS = $(COMPILE) $(LDFLAGS) $(LIBS) $(CHECK_LIBS)
$(BUILD)/flags: always
	@sh common/install.sh name $(if $(TESTING),$(TO_TEST),$(TO_BUILD))
	@mkdir -p $(@D)
	@echo "$$SETTINGS" | cmp -s - $@ || echo "$$SETTINGS" > $@

$(OBJECTS): $(BUILD)/objects/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(QUIETLY) $(COMPILE) -MMD -MP -c $< -o $@

$(BUILD)/staircase.a: $(LIBRARY)
	$(QUIETLY) rm -f $@; ar rcs $@ $^

$(LESSONS:%=$(BUILD)/%): $(BUILD)/%: $(BUILD)/objects/%/main.o $(BUILD)/staircase.a
	$(QUIETLY) $(COMPILE) $^ -o $@ $(LDFLAGS) $(LIBS)

$(BUILD)/launch $(BUILD)/verify $(BUILD)/consolidate $(BUILD)/handbook: $(BUILD)/%: $(BUILD)/objects/common/%.o $(BUILD)/staircase.a
	$(QUIETLY) $(COMPILE) $^ -o $@ $(LDFLAGS) $(LIBS)

$(BUILD)/report: $(BUILD)/objects/common/report/main.o $(BUILD)/staircase.a
	$(QUIETLY) $(COMPILE) $^ -o $@ $(LDFLAGS) $(LIBS)

$(BUILD)/doctor: $(BUILD)/objects/common/doctor/main.o $(BUILD)/staircase.a
	$(QUIETLY) $(COMPILE) $^ -o $@ $(LDFLAGS) $(LIBS)

# Without the library: a first hint is not to wait for it.
$(BUILD)/tasks: $(BUILD)/objects/common/course/main.o $(BUILD)/objects/common/course/tasks.o
	$(QUIETLY) $(COMPILE) $^ -o $@ $(LDFLAGS) $(LIBS)

$(BUILD)/deadlock: $(BUILD)/objects/lesson02_allreduce/deadlock.o $(BUILD)/staircase.a
	$(QUIETLY) $(COMPILE) $^ -o $@ $(LDFLAGS) $(LIBS)

$(BUILD)/lab_buckets: $(BUILD)/objects/lesson03_ddp/lab_buckets.o $(BUILD)/staircase.a
	$(QUIETLY) $(COMPILE) $^ -o $@ $(LDFLAGS) $(LIBS)

$(BUILD)/check_page: $(filter %/browser.o %/check_page.o %/page.o %/page_ring.o %/page_memory.o %/page_reader.o,$(BROWSING)) $(BUILD)/objects/tests/inside.o $(BUILD)/staircase.a
	$(QUIETLY) $(COMPILE) $^ -o $@ $(LDFLAGS) $(CHECK_LIBS) $(LIBS)

# For check-mpi; of a build with MPI=1.
$(BUILD)/mismatch: tests/mpi/mismatch.c $(BUILD)/staircase.a
	$(QUIETLY) $(COMPILE) $^ -o $@ $(LDFLAGS) $(LIBS)

# Meddles with a rank's sockets (LD_PRELOAD). A sanitizer would have to come before it.
SHIM := $(if $(findstring -fsanitize,$(CFLAGS)),,$(if $(filter Linux,$(shell uname -s)),$(BUILD)/short_io.so))
$(BUILD)/short_io.so: tests/shim/short_io.c $(BUILD)/flags
	$(QUIETLY) $(COMPILE) -Wno-pedantic -shared -fPIC $< -o $@ -ldl

# Tests run the programs beside them.
# check.objects: to link a starter's tests with them; a name a line, quoted for a shell.
$(BUILD)/check: $(TESTS) $(BUILD)/staircase.a | $(PROGRAMS) $(SHIM) $(BUILD)/grade
	@realpath $(filter %.o,$^) | sed 's/.*/"&"/' > $@.objects
	$(QUIETLY) $(COMPILE) $^ -o $@ $(LDFLAGS) $(CHECK_LIBS) $(LIBS)

# grade.objects: for another tree's tasks, to link a grader with them.
$(BUILD)/grade: $(GRADING) $(TOOLS) $(BUILD)/staircase.a | $(PROGRAMS) $(SHIM)
	@realpath $(filter %.o,$^) | sed 's/.*/"&"/' > $@.objects
	$(QUIETLY) $(COMPILE) $^ -o $@ $(LDFLAGS) $(CHECK_LIBS) $(LIBS)

$(FUZZERS:%=$(BUILD)/fuzz_%): $(BUILD)/fuzz_%: tests/fuzz/entry.c $(FUZZING) $(BUILD)/staircase.a
	$(QUIETLY) $(COMPILE) -fsanitize=fuzzer -Dfuzz_target=fuzz_$* $^ -o $@ $(LDFLAGS) $(LIBS)

-include $(OBJECTS:.o=.d)

.PHONY: answers handin offline check-offline autograder grade check-grader report check-report all lesson01 lesson02 lesson03 lesson04 demo bench bench-peers lab-odd-curves lab-guess doctor-matrix handbook lab-compress lab-precision lab-profile lab-deadlock lab-buckets lab-memory lab-limit lab-rate lab-record diffs data check check-page check-mpi test sanitize valgrind \
	fuzz lint floors format compdb help clean always
