# From SGD to ZeRO: four lessons, one staircase.
BUILD ?= build
CC ?= cc
OPTIMIZE ?= -O3
WARN = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2
PACKAGES = openblas libuv zlib jansson
CFLAGS ?= $(OPTIMIZE) -g
# -ffp-contract=off: a * b + c is rounded twice everywhere, so that equal orders give equal bits.
ALL_CFLAGS = -std=gnu11 -ffp-contract=off -fno-strict-aliasing -I. -MMD -MP $(WARN) $(CFLAGS) $(shell pkg-config --cflags $(PACKAGES))
# Where the digits are, for programs that stand elsewhere than in this tree.
ALL_CFLAGS += -DSOURCE_DIR='"$(CURDIR)"'
LIBS = $(shell pkg-config --libs $(PACKAGES)) -lm -pthread

LESSONS = lesson01_single lesson02_allreduce lesson03_ddp lesson04_zero
MAINS = common/launch.c common/verify.c $(LESSONS:%=%/main.c)
PROGRAMS = $(patsubst %,$(BUILD)/%,$(LESSONS) launch verify)
LIBRARY = $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(MAINS),$(wildcard common/*.c lesson0*/*.c)))
TESTS = $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/*.c))

all: $(PROGRAMS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c $< -o $@

$(BUILD)/staircase.a: $(LIBRARY)
	@rm -f $@
	ar rcs $@ $^

$(LESSONS:%=$(BUILD)/%): $(BUILD)/%: $(BUILD)/%/main.o $(BUILD)/staircase.a
	$(CC) $(ALL_CFLAGS) $^ -o $@ $(LDFLAGS) $(LIBS)

$(BUILD)/launch $(BUILD)/verify: $(BUILD)/%: $(BUILD)/common/%.o $(BUILD)/staircase.a
	$(CC) $(ALL_CFLAGS) $^ -o $@ $(LDFLAGS) $(LIBS)

$(BUILD)/check: $(TESTS) $(BUILD)/staircase.a
	$(CC) $(ALL_CFLAGS) $^ -o $@ $(LDFLAGS) $(LIBS) $(shell pkg-config --libs check)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

clean:
	rm -rf $(BUILD)

.PHONY: all clean
