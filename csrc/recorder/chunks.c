/* Room for records: the thread's chunk, and the claim of a new one (life of a chunk: csrc/abi/strobe_abi.h). */
#include "recorder.h"

#define STROBE_MADV_POPULATE_READ 22
#define STROBE_MADV_POPULATE_WRITE 23

/* Asks the kernel for the pages, so that a full file system shows here and not as SIGBUS at a write. Kernels
   before 5.14 do not know the request; there the host has allocated the whole file. Where a read takes the space as
   well, it is read: the kernel then maps the neighbours that the host has made (csrc/segment/file/supply.h) along with
   a page, 16 at a time, and so that they can be written. */
int strobe_populate(const struct strobe_recorder* recorder, void* start, uint64_t bytes) {
    int64_t advice = recorder->header->reads_make_pages ? STROBE_MADV_POPULATE_READ : STROBE_MADV_POPULATE_WRITE;
    uint64_t from = (uint64_t)start & ~4095ull;
    uint64_t to = ((uint64_t)start + bytes + 4095) & ~4095ull;
    int64_t result;
    if (!strobe_calls_begin(recorder))
        return (from >= recorder->made_chunks[0] && to <= recorder->made_chunks[1]) ||
               (from >= recorder->made_totals[0] && to <= recorder->made_totals[1]) ||
               strobe_touch_pages(recorder, from, to);
    result = strobe_syscall(STROBE_SYS_MADVISE, (int64_t)from, (int64_t)(to - from), advice, 0, 0, 0);
    strobe_calls_end(recorder);
    return result == 0 || result == -STROBE_EINVAL;
}

/* As much as there is, up to `wanted` bytes from `start` on: its first and last address. */
static void strobe_make_pages(struct strobe_recorder* recorder, uint8_t* start, uint64_t wanted, uint64_t end,
                              uint64_t* made) {
    uint64_t at = (uint64_t)start;
    made[0] = at & ~4095ull;
    while (at < (uint64_t)start + wanted && at + STROBE_CHUNK_BYTES <= end &&
           strobe_populate(recorder, (void*)at, STROBE_CHUNK_BYTES))
        at += STROBE_CHUNK_BYTES;
    made[1] = at;
}

void strobe_pages_prepare(struct strobe_recorder* recorder) {
    struct strobe_header* header = recorder->header;
    uint64_t chunks = (uint64_t)header->chunk_limit * STROBE_CHUNK_BYTES;
    uint64_t used = header->next_ticket * STROBE_CHUNK_BYTES;
    uint8_t* totals = (uint8_t*)recorder->totals;
    if (used > chunks) used = chunks;
    strobe_make_pages(recorder, recorder->chunks, used + STROBE_FILTERED_BYTES, (uint64_t)recorder->chunks + chunks,
                      recorder->made_chunks);
    strobe_make_pages(recorder, totals, header->totals_used * sizeof(struct strobe_totals) + STROBE_FILTERED_BYTES / 8,
                      (uint64_t)recorder->chunks, recorder->made_totals);
}

static void strobe_chunk_take(struct strobe_recorder* recorder, struct strobe_thread_state* state,
                              struct strobe_chunk* chunk, uint64_t ticket) {
    uint32_t open = state->depth;
    uint32_t index;
    if (chunk->sequence != 0) strobe_fetch_add64(&recorder->header->evicted_records, chunk->progress >> 32);
    chunk->sequence = 0;
    STROBE_COMPILER_BARRIER();
    chunk->progress = sizeof(struct strobe_chunk);
    chunk->thread_index = state->thread_index;
    chunk->tid = state->tid;
    chunk->lane = state->lane;
    chunk->owner = recorder->owner;
    chunk->open_count = open;
    chunk->first_ticks = state->last_ticks;
    chunk->previous_sequence = state->chunk_sequence;
    for (index = 0; index < open && index < STROBE_OPEN_FRAMES; index++) {
        struct strobe_frame* frame = &state->frames[index];
        chunk->open_ticks[index] = frame->flags & STROBE_FRAME_SKIP ? 0 : frame->enter_ticks;
    }
    STROBE_COMPILER_BARRIER();
    chunk->sequence = state->chunk_sequence = ticket + 1;
    state->chunk = chunk;
    state->used = sizeof(struct strobe_chunk);
    state->records = 0;
}

static void strobe_limit_lower(struct strobe_header* header, uint32_t limit) {
    uint32_t current = header->chunk_limit;
    while (limit < current && !strobe_compare_exchange32(&header->chunk_limit, current, limit))
        current = header->chunk_limit;
}

int strobe_owner_has_ended(const struct strobe_recorder* recorder, uint32_t owner) {
    if (owner == 0 || owner == recorder->owner || owner == STROBE_OWNER_UNKNOWN) return 0;
    if (recorder->owner == STROBE_OWNER_UNKNOWN || !recorder->may_call_kernel) return 0;
    return strobe_syscall(STROBE_SYS_KILL, owner, 0, 0, 0, 0, 0) == -STROBE_ESRCH;
}

/* Events from before now may be gone, and no later chunk of the same hand says so. */
static void strobe_note_evicted(const struct strobe_recorder* recorder) {
    uint64_t ticks = strobe_ticks(recorder);
    uint64_t* noted = &recorder->header->evicted_ticks;
    uint64_t before = *(const volatile uint64_t*)noted;
    while (before < ticks && !strobe_compare_exchange64(noted, before, ticks))
        before = *(const volatile uint64_t*)noted;
}

/* 1: it is the caller's. A process that was forked from this one, or from which this one was, may have ended without
   giving its chunks back. Of those who find that, the one that clears the owner has the chunk. */
static int strobe_chunk_seize(const struct strobe_recorder* recorder, struct strobe_chunk* chunk) {
    uint32_t owner = *(const volatile uint32_t*)&chunk->owner;
    if (strobe_compare_exchange32(&chunk->state, STROBE_CHUNK_FREE, STROBE_CHUNK_OWNED) ||
        strobe_compare_exchange32(&chunk->state, STROBE_CHUNK_FULL, STROBE_CHUNK_OWNED))
        return 1;
    if (!strobe_owner_has_ended(recorder, owner) || !strobe_compare_exchange32(&chunk->owner, owner, 0)) return 0;
    strobe_note_evicted(recorder);
    return 1;
}

static int strobe_chunk_claim(struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    struct strobe_header* header = recorder->header;
    uint32_t attempts = header->chunk_limit + 1;
    if (state->last_ticks < recorder->no_chunk_before_ticks) attempts = 0;
    while (attempts-- > 0) {
        uint32_t limit = *(const volatile uint32_t*)&header->chunk_limit; /* others lower it at any time, down to 0 */
        struct strobe_chunk* chunk;
        uint64_t ticket;
        if (limit == 0) break;
        ticket = strobe_fetch_add64(&header->next_ticket, 1);
        chunk = (struct strobe_chunk*)(recorder->chunks + (ticket % limit) * STROBE_CHUNK_BYTES);
        /* in later rounds, too: whoever had its ticket in the first may not have come to ask for its pages yet */
        if (!strobe_populate(recorder, chunk, STROBE_CHUNK_BYTES)) {
            if (ticket < limit) strobe_limit_lower(header, (uint32_t)ticket);
            continue;
        }
        if (strobe_chunk_seize(recorder, chunk)) {
            strobe_chunk_take(recorder, state, chunk, ticket);
            return 1;
        }
    }
    if (state->last_ticks >= recorder->no_chunk_before_ticks)
        recorder->no_chunk_before_ticks = state->last_ticks + recorder->sampling_window_ticks;
    if (state->chunk_sequence != 0) strobe_note_evicted(recorder); /* its last one is full, too */
    state->chunk_sequence = 0;
    strobe_fetch_add64(&header->lost_no_chunk, 1);
    return 0;
}

static STROBE_COLD int strobe_chunk_next(struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    if (state->chunk != NULL) {
        state->chunk->owner = 0; /* whoever takes it is named in a moment only */
        STROBE_COMPILER_BARRIER();
        state->chunk->state = STROBE_CHUNK_FULL;
        state->chunk = NULL;
        strobe_thread_read_name(recorder, state);
    }
    return strobe_chunk_claim(recorder, state);
}

uint64_t* strobe_record_reserve(struct strobe_recorder* recorder, struct strobe_thread_state* state, uint32_t words) {
    uint32_t bytes = sizeof(struct strobe_record) + words * 8;
    if (STROBE_UNLIKELY(state->chunk == NULL || state->used + bytes > STROBE_CHUNK_BYTES) &&
        !strobe_chunk_next(recorder, state))
        return NULL;
    return (uint64_t*)((uint8_t*)state->chunk + state->used);
}

void strobe_record_publish(struct strobe_thread_state* state, uint32_t words, uint32_t counted) {
    state->used += sizeof(struct strobe_record) + words * 8;
    state->records += counted;
    STROBE_COMPILER_BARRIER(); /* x86-64 keeps stores in order; only the compiler must */
    state->chunk->progress = ((uint64_t)state->records << 32) | state->used;
}

/* The state was another thread's and still has its chunk: what follows in it is of this thread. */
void strobe_record_thread(struct strobe_recorder* recorder, struct strobe_thread_state* state) {
    struct strobe_record* record;
    uint64_t* words;
    if (state->chunk == NULL) return;
    words = strobe_record_reserve(recorder, state, 2);
    if (words == NULL || state->used == sizeof(struct strobe_chunk)) return; /* a new chunk names the thread itself */
    record = (struct strobe_record*)words;
    record->ticks = strobe_next_ticks(recorder, state);
    record->function = 0;
    record->depth = 0;
    record->kind_flags = STROBE_RECORD_THREAD;
    record->payload_words = 2;
    words[2] = state->thread_index;
    words[3] = state->tid;
    strobe_record_publish(state, 2, 0);
}
