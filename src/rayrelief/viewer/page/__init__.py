"""The live page: results in a browser, and new ones integrated there."""
