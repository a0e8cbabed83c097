/**
 * Function hooks. Trampolines are our own (trampolines.ts): the host writes the jumps to them, and takes these out again, while no thread
 * stands in the middle of what they replace (csrc/patch).
 * On other CPUs than x86-64 Interceptor makes and writes them itself, which is why the host asks only before the program runs.
 */

import {
    ENTRY_LOOPS, ENTRY_REFUSAL, PLAN_LOOPS_TO_ENTRY, REFUSED_INTERCEPTOR, REFUSED_NOT_CODE, REFUSED_NOTHING, REFUSED_UNLOADED,
} from "./abi.js";
import { forgetRemovals, isUnloaded } from "./modules.js";
import { PresentCode } from "./present_code.js";
import { type Recorder } from "./recorder.js";
import { jumpsOf, makeTrampolines } from "./trampolines.js";

const BATCH = 100; // Interceptor's transactions are quadratic in their size

export interface TrampolineRequest {
    ids: number[];
    addresses: string[];
    sizes: number[];
}

export interface HookRequest extends TrampolineRequest {
    /** The last removal of a library that the host has dealt with. */
    removals: number;
}

export interface HookAnswer {
    /** Why the function cannot be hooked: REFUSED_… */
    refusal: number;
    /** Where the jump is to lead; nowhere where Interceptor has written it. */
    trampoline: string;
    /** The jump lies so many bytes behind the function's entry. */
    skip: number;
    /** Bytes of the instructions that begin in the first 5. */
    displaced: number;
    /** Where the copies of these instructions lie; nowhere where there are none. */
    copy: string;
    /** Of the instructions 1 to 4 bytes behind the jump's first: a byte each, how far behind `copy`. 0: none begins there. */
    copies: number;
    /** There lies `number` for as long as the trampoline does; nowhere where there is none. */
    mark: string;
    number: number;
    /** What stood where the jump is to lie, in hexadecimal digits. */
    original: string;
}

export function refused(reason: number): HookAnswer {
    return { refusal: reason, trampoline: "0x0", skip: 0, displaced: 0, copy: "0x0", copies: 0, mark: "0x0", number: 0, original: "" };
}

export class Hooks {
    constructor(private readonly recorder: Recorder) {}

    /** Makes the trampolines. Nothing of the program has changed when this returns. */
    prepare(request: HookRequest, plans: ArrayBuffer): HookAnswer[] {
        this.recorder.setPlans(request.ids, plans);
        const code = new PresentCode();
        const there = request.ids.map((_, index) => code.has(Number(request.addresses[index]), request.sizes[index]));
        const present = <T>(items: T[]): T[] => items.filter((_, index) => there[index]);
        const { ids, addresses, sizes, removals } = request;
        forgetRemovals(removals);
        const answers = this.prepareAll({ ids: present(ids), addresses: present(addresses), sizes: present(sizes) });
        let next = 0;
        return there.map((isThere, index) => {
            const answer = isThere ? answers[next++] : refused(REFUSED_NOT_CODE);
            return isUnloaded(ptr(addresses[index])) ? refused(REFUSED_UNLOADED) : answer;
        });
    }

    private prepareAll(request: TrampolineRequest): HookAnswer[] {
        return this.recorder.enter === null ? this.prepareProbes(request) : this.prepareTrampolines(request);
    }

    private prepareTrampolines(request: TrampolineRequest): HookAnswer[] {
        const answers = makeTrampolines(this.recorder, request);
        this.noteLoops(request, answers.map(answer => answer.loopsToEntry));
        const made = answers.map(({ answer }) => answer);
        this.recorder.codeChanges.note(jumpsOf(request.addresses, made));
        return made;
    }

    private noteLoops(request: TrampolineRequest, loops: boolean[]): void {
        this.recorder.addFlags(request.ids.filter((_, index) => loops[index]), PLAN_LOOPS_TO_ENTRY);
    }

    private prepareProbes(request: TrampolineRequest): HookAnswer[] {
        const addresses = request.addresses.map(address => ptr(address));
        const checks = this.recorder.checkPatchable(addresses, request.sizes);
        this.noteLoops(request, [...checks].map(check => (check & ENTRY_LOOPS) !== 0));
        const answers = addresses.map((address, index) => {
            if (index % BATCH === 0) Interceptor.flush();
            const refusal = checks[index] & ENTRY_REFUSAL;
            return refusal === REFUSED_NOTHING ? this.attach(request.ids[index], address) : refused(refusal);
        });
        Interceptor.flush();
        return answers;
    }

    private attach(id: number, entry: NativePointer): HookAnswer {
        const callbacks = this.recorder.onEnter as unknown as NativeInvocationListenerCallbacks;
        try {
            Interceptor.attach(entry, callbacks, ptr(id));
        } catch {
            return refused(REFUSED_INTERCEPTOR);
        }
        return refused(REFUSED_NOTHING); // nothing is left for the host to write
    }
}
