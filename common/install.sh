#!/bin/sh
# install: what is needed and not here is named, one line each, or installed.
#
#   sh common/install.sh name THING...      names what is missing; 1 when something is
#   sh common/install.sh install THING...   installs it with apt-get, elsewhere names it
#   sh common/install.sh packages THING...  lists their packages of Debian, here or not
#
# A THING is a row of the table. A library is here when pkg-config finds it, or when the user has
# said where it is (OPENBLAS_LIBS=...). Nothing is asked of apt-get when nothing is missing.
set -u

table='
thing          Debian,Ubuntu               Fedora              Homebrew
make           make                        make                make
compiler       gcc,libc6-dev               gcc                 gcc
pkg-config     pkg-config                  pkgconf-pkg-config  pkg-config
openblas       libopenblas-dev             openblas-devel      openblas
libuv          libuv1-dev                  libuv-devel         libuv
zlib           zlib1g-dev                  zlib-devel          zlib
jansson        libjansson-dev              jansson-devel       jansson
check          check                       check-devel         check
git            git                         git                 git
clang          clang                       clang               llvm
libfuzzer      libclang-rt-dev             compiler-rt         llvm
clang-format   clang-format                clang-tools-extra   llvm
clang-tidy     clang-tidy                  clang-tools-extra   llvm
shellcheck     shellcheck                  ShellCheck          shellcheck
valgrind       valgrind                    valgrind            -
gnuplot        gnuplot-nox                 gnuplot             gnuplot
chromium       chromium                    chromium            -
python3        python3                     python3             python3
fashion-mnist  dataset-fashion-mnist       -                   -
torch          python3-torch               python3-torch       pytorch
gloo           libgloo-dev,g++             -                   -
mpi            libopenmpi-dev,openmpi-bin  openmpi-devel       open-mpi
openmpi        libopenmpi-dev,openmpi-bin  openmpi-devel       open-mpi
'

package_of() { # THING COLUMN
    case $1.${CC:-cc} in compiler.clang*) set -- clang "$2" ;; esac
    echo "$table" | awk -v thing="$1" -v column="$2" \
        '$1 == thing { gsub(",", " ", $column); print $column }'
}

title_of() { # THING
    case $1 in
    compiler) echo "The C compiler '${CC:-cc}'" ;;
    openblas) echo OpenBLAS ;;
    libfuzzer) echo "libFuzzer (of clang)" ;;
    check) echo "Check (the library the tests are written with)" ;;
    chromium) echo "Chromium (to look at a report, for make check-report only)" ;;
    python3) echo "Python 3 (to talk to Chromium, for make check-report only)" ;;
    fashion-mnist) echo "Fashion-MNIST" ;;
    torch) echo "PyTorch (of the system's Python, for a benchmark only)" ;;
    gloo) echo "gloo (for its benchmark only)" ;;
    mpi) echo "MPI (Open MPI or MPICH, its mpicc and mpirun; for MPI=1 only)" ;;
    openmpi) echo "Open MPI (for its benchmark only)" ;;
    *) echo "$1" ;;
    esac
}

module() { # NAME: does pkg-config find it?
    "${PKG_CONFIG:-pkg-config}" --exists "$1" 2>/dev/null
}

all_given() { # the user has said where every library is: pkg-config has nothing to find
    [ "${OPENBLAS_LIBS-}" ] && [ "${LIBUV_LIBS-}" ] && [ "${ZLIB_LIBS-}" ] &&
        [ "${JANSSON_LIBS-}" ]
}

# gloo's headers are C++, and nothing for pkg-config comes with them.
gloo_compiles() {
    # shellcheck disable=SC2086 # CXX may hold options
    echo '#include <gloo/allreduce.h>' | ${CXX:-c++} -E -x c++ - >/dev/null 2>&1
}

mpi_compiles() {
    echo '#include <mpi.h>' | mpicc -E -x c - >/dev/null 2>&1
}

is_openmpi() { # another MPI's compiler has no such option
    mpicc --showme:version >/dev/null 2>&1
}

# A compiler without the C library's headers compiles nothing.
compiles() {
    # shellcheck disable=SC2086 # CC may hold options
    echo '#include <stdio.h>' | ${CC:-cc} -E -x c - >/dev/null 2>&1
}

# Clang's own libraries may be a package of their own.
links_fuzzer() {
    echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null
}

present() { # THING
    case $1 in
    compiler) compiles ;;
    pkg-config) command -v "${PKG_CONFIG:-pkg-config}" >/dev/null || all_given ;;
    openblas) [ "${OPENBLAS_LIBS-}" ] || module openblas ;;
    libuv) [ "${LIBUV_LIBS-}" ] || module libuv ;;
    zlib) [ "${ZLIB_LIBS-}" ] || module zlib ;;
    jansson) [ "${JANSSON_LIBS-}" ] || module jansson ;;
    check) [ "${CHECK_LIBS-}" ] || module check ;;
    libfuzzer) links_fuzzer ;;
    fashion-mnist) [ -e /usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz ] ;;
    torch) "${PYTHON:-/usr/bin/python3}" -c 'import torch' >/dev/null 2>&1 ;;
    gloo) gloo_compiles ;;
    mpi) command -v mpirun >/dev/null && mpi_compiles ;;
    openmpi) command -v mpirun >/dev/null && is_openmpi ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

missing() { # THING...: those that are not here
    for thing; do
        present "$thing" || echo "$thing"
    done
}

# "'apt-get install libuv1-dev'", or all three systems' names where none is recognised.
how_to_get() { # THING
    if command -v apt-get >/dev/null; then
        echo "install it with 'apt-get install $(package_of "$1" 2)'"
    elif [ "$1" = fashion-mnist ]; then
        echo "put its four IDX files into a folder and train with --data FOLDER"
    elif [ "$1" = gloo ]; then
        echo "Debian and Ubuntu have it in libgloo-dev"
    elif command -v dnf >/dev/null; then
        echo "install it with 'dnf install $(package_of "$1" 3)'"
    elif [ "$(package_of "$1" 4)" = - ]; then
        echo "install $(package_of "$1" 2) (Debian, Ubuntu) or $(package_of "$1" 3) (Fedora)"
    elif command -v brew >/dev/null; then
        echo "install it with 'brew install $(package_of "$1" 4)'"
    else
        echo "install $(package_of "$1" 2) (Debian, Ubuntu), $(package_of "$1" 3) (Fedora)" \
            "or $(package_of "$1" 4) (Homebrew)"
    fi
}

or_where() { # THING: how to say where it is, for what need not stand on the usual paths
    case $1 in
    compiler) echo "; or name another: make CC=..." ;;
    openblas | libuv | zlib | jansson | check)
        upper=$(echo "$1" | tr '[:lower:]' '[:upper:]')
        echo "; or say where it is: PKG_CONFIG_PATH=DIR/lib/pkgconfig," \
            "or ${upper}_CFLAGS=-I... ${upper}_LIBS='-L... -l...'"
        ;;
    esac
}

name_one() { # THING
    note=
    if [ "$1" = openblas ] && [ "$(uname -s)" = Darwin ]; then
        note=" (Apple's Accelerate does not stand in for it)"
    fi
    echo "$(title_of "$1") is missing$note: $(how_to_get "$1")$(or_where "$1")" >&2
}

# Without pkg-config no library can be looked for: then only its own absence is certain.
name_missing() { # THING...
    blind=
    present pkg-config || blind=yes
    for thing; do
        case $blind.$thing in
        yes.openblas | yes.libuv | yes.zlib | yes.jansson | yes.check) continue ;;
        esac
        name_one "$thing"
    done
}

# apt-get as root: directly, or through sudo. 1 where neither can be.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

can_install() {
    command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }
}

# The package lists are fetched first: they may be empty, or too old to be true. Where that fails
# in part, the packages may still be had.
apt_install() { # PACKAGE...
    echo "Installing with apt-get: $*"
    as_root apt-get -qq -o DPkg::Lock::Timeout=120 update
    as_root apt-get -qq -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 install --no-install-recommends "$@" >/dev/null
}

mode=$1
shift
if [ "$mode" = packages ]; then
    for thing; do
        package_of "$thing" 2 | grep . || { echo "install: the table has no row $thing" >&2; exit 1; }
    done
    exit 0
fi
lacking=$(missing "$@")
[ "$lacking" ] || exit 0

if [ "$mode" = install ] && can_install; then
    packages=$(for thing in $lacking; do package_of "$thing" 2; done)
    # shellcheck disable=SC2086 # words, one each
    apt_install $packages
    lacking=$(missing "$@")
    [ "$lacking" ] || exit 0
fi

# shellcheck disable=SC2086 # words, one each
name_missing $lacking
exit 1
