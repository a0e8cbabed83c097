/* A library is loaded, used and unloaded again and again, while another thread looks through the list of libraries. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include "torture.h"

static volatile int stop;

static int see(struct dl_phdr_info* info, size_t size, void* seen) {
    (void)size;
    *(long*)seen += info->dlpi_phnum > 0;
    return 0;
}

static void* look(void* unused) {
    while (!stop) {
        long seen = 0;
        dl_iterate_phdr(see, &seen);
        check("libraries", seen > 2, 1);
        counted(seen);
        wait_a_little(300);
    }
    return unused;
}

TRACED long use_library(long value) {
    void* library = dlopen(plugin_path, value % 2 ? RTLD_NOW : RTLD_LAZY);
    if (library == NULL) {
        check(dlerror(), 0, 1);
        return -1;
    }
    long (*run)(long) = (long (*)(long))dlsym(library, "plugged_run");
    const long result = run(value);
    gPlugged += 2;
    if (value % 3) wait_a_little(200);
    dlclose(library);
    return result;
}

static long round_of(long number) { return use_library(number) - 87 + use_library(2 * number) - 87 + 7; }

int main(int count, char** arguments) {
    pthread_t thread;
    pthread_create(&thread, NULL, look, NULL);
    const int status = run_rounds(count, arguments, round_of);
    stop = 1;
    pthread_join(thread, NULL);
    printf("last counted %ld\n", gCounted);
    return status;
}
