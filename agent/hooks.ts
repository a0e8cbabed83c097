/**
 * Function hooks: placed once, then switched by writing the jump or the original bytes back. Interceptor is never asked to
 * detach while the program runs: threads may stand inside its trampolines, which it would free.
 */

import type { Recorder } from "./recorder.js";

const PATCH_BYTES = 5; // jmp rel32
const JUMP_OPCODE = 0xe9;
const SAVED_BYTES = 24; // the longest run of instructions that begins in the first 5 bytes, and some
const BATCH = 100; // Interceptor's transactions are quadratic in their size
const MINIMUM_BYTES = 5;

const REFUSALS: Record<number, string> = {
    1: "call-in-entry",
    2: "branch-into-entry",
    3: "too-short",
    4: "not-code",
    5: "jump-at-entry",
};
const LOOPS_TO_ENTRY = 0x100;
const PLAN_ENABLED = 1;
const PLAN_LOOPS_TO_ENTRY = 8;

export interface HookRequest {
    ids: number[];
    addresses: string[];
    sizes: number[];
    /** struct strobe_function_plan as bytes: flags, argument count, six registers. */
    plans: number[][];
}

interface Hook {
    address: NativePointer;
    original: ArrayBuffer;
    patched: ArrayBuffer | null;
    /** Bytes of the instructions that begin in the first 5. */
    displaced: number;
    placed: boolean;
}

export class Hooks {
    private readonly byId = new Map<number, Hook>();

    constructor(private readonly recorder: Recorder) {}

    /** For each function "" when it is hooked, else why not. */
    install(request: HookRequest): string[] {
        const addresses = request.addresses.map(address => ptr(address));
        const checks = this.recorder.checkPatchable(addresses, request.sizes);
        const plans = request.plans.map((plan, index) =>
            checks[index] & LOOPS_TO_ENTRY ? [plan[0] | PLAN_LOOPS_TO_ENTRY, ...plan.slice(1)] : plan);
        this.recorder.setPlans(request.ids, plans);
        const results = new Array<string>(request.ids.length);
        for (let start = 0; start < results.length; start += BATCH) {
            const end = Math.min(start + BATCH, results.length);
            for (let i = start; i < end; i++)
                results[i] = REFUSALS[checks[i] & 0xff] ?? this.place(
                    request.ids[i], addresses[i], request.sizes[i], checks[i] >> 16);
            Interceptor.flush();
            for (let i = start; i < end; i++) if (results[i] === "") results[i] = this.confirm(request.ids[i]);
        }
        return results;
    }

    private place(id: number, address: NativePointer, size: number, displaced: number): string {
        const known = this.byId.get(id);
        if (known !== undefined) return "";
        const original = address.readByteArray(SAVED_BYTES) as ArrayBuffer;
        const callbacks = this.recorder.onEnter as unknown as NativeInvocationListenerCallbacks;
        try {
            // short functions were checked to be followed by padding, which Interceptor cannot know
            const target = size < MINIMUM_BYTES ? { target: address, relocation: "forced" as const } : address;
            Interceptor.attach(target as NativePointer, callbacks, ptr(id));
        } catch (error) {
            return `refused: ${(error as Error).message}`;
        }
        this.byId.set(id, { address, original, patched: null, displaced, placed: true });
        return "";
    }

    /**
     * After the flush: Interceptor must have written the short jump, which is what the checks were made for. It also fills the
     * rest of the last instruction with nops; the program's own bytes are put back there, so that taking the hook out is one write.
     */
    private confirm(id: number): string {
        const hook = this.byId.get(id) as Hook;
        if (hook.patched !== null) {
            this.write(hook, true);
            return "";
        }
        const now = hook.address.readByteArray(SAVED_BYTES) as ArrayBuffer;
        if (new Uint8Array(now)[0] !== JUMP_OPCODE) {
            this.recorder.writeCode(hook.address, hook.original);
            this.byId.delete(id);
            return "too-far";
        }
        hook.patched = now.slice(0, PATCH_BYTES);
        if (hook.displaced > PATCH_BYTES)
            this.recorder.writeCode(hook.address.add(PATCH_BYTES), hook.original.slice(PATCH_BYTES, hook.displaced));
        return "";
    }

    private write(hook: Hook, placed: boolean): void {
        if (hook.placed === placed || hook.patched === null) return;
        this.recorder.writeCode(hook.address, placed ? hook.patched : hook.original.slice(0, PATCH_BYTES));
        hook.placed = placed;
    }

    /** Takes hooks out, or changes what they record, by their plans. */
    change(ids: number[], plans: number[][]): void {
        this.recorder.setPlans(ids, plans);
        ids.forEach((id, index) => {
            const hook = this.byId.get(id);
            if (hook !== undefined) this.write(hook, (plans[index][0] & PLAN_ENABLED) !== 0);
        });
    }

    /** A library was unloaded: nothing may be written there any more. */
    forget(base: NativePointer, size: number): void {
        const end = base.add(size);
        for (const [id, hook] of this.byId)
            if (hook.address.compare(base) >= 0 && hook.address.compare(end) < 0) this.byId.delete(id);
    }

    /** Puts the program's own bytes back everywhere. */
    restoreAll(): void {
        for (const hook of this.byId.values()) this.write(hook, false);
    }
}
