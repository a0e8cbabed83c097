/* Names alone: nothing here ever runs. In glibc 2.32 and 2.34 these moved to libc, with a version of their own; that of
   before is still there. */

/* clang-format off */
#define NAMES(each) \
  each(__pthread_key_create) each(pthread_attr_setstack) each(pthread_cond_clockwait) each(pthread_create) \
  each(pthread_detach) each(pthread_getspecific) each(pthread_join) each(pthread_key_create) \
  each(pthread_key_delete) each(pthread_once) \
  each(pthread_rwlock_rdlock) each(pthread_rwlock_unlock) each(pthread_rwlock_wrlock) each(pthread_setname_np) \
  each(pthread_setspecific) each(pthread_sigmask)
/* clang-format on */
#define DEFINE(name) \
    void name(void); \
    void name(void) {}

NAMES(DEFINE)
