export const script = ``;
