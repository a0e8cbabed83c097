/* A program that fills its pages itself (userfaultfd): its pager passes the address of a page, as a text, to a function
 * before the page is there. Who reads it then waits for the pager. `WAIT`: prints "ready" and waits for a line, once
 * the descriptor is there. Ends with 77 where the system does not permit it. */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGES 50
#define PAGE 4096

static int pager;

__attribute__((noinline)) int fill(const char* page, const char* with) {
    struct uffdio_copy copy = {.dst = (unsigned long)page, .src = (unsigned long)with, .len = PAGE};
    return ioctl(pager, UFFDIO_COPY, &copy);
}

__attribute__((noinline)) long use(const char* page) { return page[0]; }

static void* fill_all(void* unused) {
    static char source[PAGE] __attribute__((aligned(PAGE)));
    struct uffd_msg message;
    for (int number = 0; read(pager, &message, sizeof message) == sizeof message; number++) {
        memset(source, 'a' + number % 26, PAGE - 1);
        fill((const char*)(message.arg.pagefault.address & ~(unsigned long)(PAGE - 1)), source);
    }
    return unused;
}

int main(int count, char** arguments) {
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register area = {.mode = UFFDIO_REGISTER_MODE_MISSING};
    pthread_t thread;
    long sum = 0;
    char* pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pager = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (pager < 0 || ioctl(pager, UFFDIO_API, &api) != 0) return 77;
    area.range.start = (unsigned long)pages;
    area.range.len = PAGES * PAGE;
    if (ioctl(pager, UFFDIO_REGISTER, &area) != 0) return 77;
    if (count > 1) {
        printf("ready\n");
        fflush(stdout);
        getchar();
    }
    pthread_create(&thread, NULL, fill_all, NULL);
    for (int number = 0; number < PAGES; number++) sum += use(pages + number * PAGE);
    printf("%s %ld\n", arguments[0] != NULL ? "sum" : "", sum);
    return 0;
}
