// The numbers of DWARF that are used here (DWARF 5, section 7.5 to 7.25, and GNU's extensions of DWARF 4).
#pragma once

#include <cstdint>

namespace strobe::dwarf {

enum Tag : uint32_t {
    kTagArrayType = 0x01,
    kTagClassType = 0x02,
    kTagEnumerationType = 0x04,
    kTagFormalParameter = 0x05,
    kTagLexicalBlock = 0x0b,
    kTagStructureType = 0x13,
    kTagSubroutineType = 0x15,
    kTagTypedef = 0x16,
    kTagUnionType = 0x17,
    kTagInlinedSubroutine = 0x1d,
    kTagModule = 0x1e,
    kTagBaseType = 0x24,
    kTagCatchBlock = 0x25,
    kTagSubprogram = 0x2e,
    kTagTryBlock = 0x32,
    kTagVariable = 0x34,
    kTagInterfaceType = 0x38,
    kTagNamespace = 0x39,
    kTagPartialUnit = 0x3c,
    kTagImportedUnit = 0x3d,
    kTagCallSite = 0x48,
    kTagGnuCallSite = 0x4109,
};

// Of those attributes alone that WholeDie is asked for; abbreviations.cpp has the others.
enum AttributeName : uint32_t {
    kAttrLocation = 0x02,
    kAttrName = 0x03,
    kAttrLowPc = 0x11,
    kAttrLanguage = 0x13,
    kAttrProducer = 0x25,
    kAttrPrototyped = 0x27,
    kAttrAbstractOrigin = 0x31,
    kAttrArtificial = 0x34,
    kAttrCallingConvention = 0x36,
    kAttrFrameBase = 0x40,
    kAttrSpecification = 0x47,
    kAttrType = 0x49,
    kAttrLinkageName = 0x6e,
    kAttrCallAllCalls = 0x7a,
    kAttrLoclistsBase = 0x8c,
    kAttrGnuAllCallSites = 0x2117,
};

enum Form : uint32_t {
    kFormAddr = 0x01,
    kFormBlock2 = 0x03,
    kFormBlock4 = 0x04,
    kFormData2 = 0x05,
    kFormData4 = 0x06,
    kFormData8 = 0x07,
    kFormString = 0x08,
    kFormBlock = 0x09,
    kFormBlock1 = 0x0a,
    kFormData1 = 0x0b,
    kFormFlag = 0x0c,
    kFormSdata = 0x0d,
    kFormStrp = 0x0e,
    kFormUdata = 0x0f,
    kFormRefAddr = 0x10,
    kFormRef1 = 0x11,
    kFormRef2 = 0x12,
    kFormRef4 = 0x13,
    kFormRef8 = 0x14,
    kFormRefUdata = 0x15,
    kFormIndirect = 0x16,
    kFormSecOffset = 0x17,
    kFormExprloc = 0x18,
    kFormFlagPresent = 0x19,
    kFormStrx = 0x1a,
    kFormAddrx = 0x1b,
    kFormRefSup4 = 0x1c,
    kFormStrpSup = 0x1d,
    kFormData16 = 0x1e,
    kFormLineStrp = 0x1f,
    kFormRefSig8 = 0x20,
    kFormImplicitConst = 0x21,
    kFormLoclistx = 0x22,
    kFormRnglistx = 0x23,
    kFormRefSup8 = 0x24,
    kFormStrx1 = 0x25,
    kFormStrx2 = 0x26,
    kFormStrx3 = 0x27,
    kFormStrx4 = 0x28,
    kFormAddrx1 = 0x29,
    kFormAddrx2 = 0x2a,
    kFormAddrx3 = 0x2b,
    kFormAddrx4 = 0x2c,
    kFormGnuAddrIndex = 0x1f01,
    kFormGnuStrIndex = 0x1f02,
    kFormGnuRefAlt = 0x1f20,
    kFormGnuStrpAlt = 0x1f21,
};

inline bool is_strx(uint32_t form) { return form == kFormStrx || (form >= kFormStrx1 && form <= kFormStrx4); }
inline bool is_addrx(uint32_t form) {
    return form == kFormAddrx || form == kFormGnuAddrIndex || (form >= kFormAddrx1 && form <= kFormAddrx4);
}
// What is referred to is in the alternate file (dwz; DWARF 5: supplementary file).
inline bool is_alternate_reference(uint32_t form) {
    return form == kFormGnuRefAlt || form == kFormRefSup4 || form == kFormRefSup8;
}
inline bool is_alternate_string(uint32_t form) { return form == kFormGnuStrpAlt || form == kFormStrpSup; }
// Length and content stand in the DIE itself.
inline bool is_block(uint32_t form) {
    return form == kFormExprloc || form == kFormBlock || form == kFormBlock1 || form == kFormBlock2 ||
           form == kFormBlock4;
}

}  // namespace strobe::dwarf
