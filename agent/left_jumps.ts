/**
 * The jumps that the host writes are noted in memory that outlives the agent. In a forked child, and where an agent could not take them
 * back, the next one does.
 */

import { PresentCode } from "./present_code.js";
import type { Recorder } from "./recorder.js";

const ENTRY_BYTES = 24; // struct strobe_jump
const JUMP = 0xe9; // jmp rel32
const JUMP_BYTES = 5;

export interface Jump {
    address: NativePointer;
    leadsTo: NativePointer;
}

export class LeftJumps {
    private readonly note_: (count: number, jumps: NativePointer) => void;

    constructor(private readonly recorder: Recorder, private readonly form: Record<string, NativePointer>) {
        this.note_ = new NativeFunction(form.strobe_agent_note_jumps, "void", ["uint32", "pointer"]);
    }

    /** Before any of them is written. */
    note(jumps: Jump[]): void {
        const entries = Memory.alloc(Math.max(ENTRY_BYTES * jumps.length, 8));
        jumps.forEach(({ address, leadsTo }, index) => {
            const entry = entries.add(ENTRY_BYTES * index);
            entry.writePointer(address).add(8).writePointer(leadsTo);
            entry.add(16).writeByteArray(address.readByteArray(JUMP_BYTES) as ArrayBuffer);
        });
        this.note_(jumps.length, entries);
    }

    /** Those of agents before this one. */
    takeBack(): void {
        const place = Memory.alloc(8);
        const count = new NativeFunction(this.form.strobe_agent_left_jumps, "uint32", ["pointer"])(place) as number;
        if (count === 0) return;
        const code = new PresentCode();
        for (let index = count - 1; index >= 0; index--) {
            const entry = place.readPointer().add(ENTRY_BYTES * index);
            const address = entry.readPointer();
            if (!code.has(Number(address), JUMP_BYTES) || !leads(address, entry.add(8).readPointer())) continue;
            this.recorder.replaceCode(address, entry.add(16).readByteArray(JUMP_BYTES) as ArrayBuffer);
        }
    }
}

/** Whether a jump stands there, and leads to that place. */
export function leads(address: NativePointer, to: NativePointer): boolean {
    return address.readU8() === JUMP && address.add(JUMP_BYTES).add(address.add(1).readS32()).equals(to);
}
