// Files that are dropped anywhere on the page go the way of the button that takes any file, one
// after the other; those dropped on another upload button go its way.
(() => {
  const ANY = "Upload any file";
  if (window.rayreliefDrop) return; // the page may insert this again
  window.rayreliefDrop = true;
  const buttons = () => [...document.querySelectorAll("button")];
  const called = (name) => buttons().find((each) => each.textContent.trim() === name);
  const holdsFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  const mark = (on) => document.body.classList.toggle("rayrelief-dropping", on);

  async function put(file, name) {
    const input = called(name).parentElement.querySelector("input[type=file]");
    const one = new DataTransfer();
    one.items.add(file);
    input.files = one.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
    do {
      await new Promise((ready) => setTimeout(ready, 100));
    } while (called(name)?.disabled); // as long as it is on its way
  }

  function unfold() {
    if (called(ANY).offsetParent !== null) return;
    const label = document.getElementById("rayrelief-drop").dataset.folder;
    const titles = [...document.querySelectorAll("div")];
    titles.find((each) => each.firstChild?.nodeValue === label)?.click();
  }

  document.addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault(); // else the browser would open the file in place of the page
    mark(true);
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) mark(false);
  });
  document.addEventListener("drop", async (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    mark(false);
    const onto = event.target.closest?.("button")?.textContent.trim() ?? "";
    const name = onto.startsWith("Upload ") ? onto : ANY;
    const files = [...event.dataTransfer.files]; // gone after the first wait
    unfold();
    for (const file of files) await put(file, name);
  });
})();
